// Applies decorators without a compiler.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';

export const ROOMY = 1_000_000_000;

/** A controller of one route, with the decorators given on it. */
export function controllerWith(...decorators) {
  class BenchController {
    hello() {
      return { hello: 'world' };
    }
  }
  for (const decorate of [Get(), ...decorators]) decorateMethod(decorate, BenchController, 'hello');
  Controller()(BenchController);
  return BenchController;
}

export function decorateMethod(decorate, { prototype }, name) {
  const before = Object.getOwnPropertyDescriptor(prototype, name);
  const after = decorate(prototype, name, before);
  if (after) Object.defineProperty(prototype, name, after);
}

export function moduleOf(metadata) {
  class BenchModule {}
  Module(metadata)(BenchModule);
  return BenchModule;
}
