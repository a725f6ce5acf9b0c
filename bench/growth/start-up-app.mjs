// One application with many handlers, in a process of its own: node --expose-gc start-up-app.mjs '{ handlers, rules, … }'.
// Sends its parent the duration of the start and of the first request, then exits.
import 'reflect-metadata';
import { Controller, Get } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { decorateMethod, moduleOf, ROOMY } from '../apps/decorate.mjs';

const KEYS = ['{ip}', '{params.id}', '{headers.x-client}{ip}'];

/** `rules` of each handler and `moduleRules`; without `isLimited`, the same application without the library. */
const { handlers, perController, rules, moduleRules, isLimited } = JSON.parse(process.argv[2]);
const library = isLimited ? await import('nestjs-freq-limit') : undefined;

const heapBefore = heapUsed();
const from = performance.now();
const app = await NestFactory.create(moduleOf({ imports: imports(), controllers: controllers() }), {
  logger: ['error'],
});
await app.listen(0, '127.0.0.1');
const startMs = performance.now() - from;
const heapBytes = heapUsed() - heapBefore;

const requestFrom = performance.now();
const { status } = await fetch(`http://127.0.0.1:${app.getHttpServer().address().port}/c0/h0/x`);
const firstRequestMs = performance.now() - requestFrom;
if (status !== 200) throw new Error(`the first request got ${status}`);

const result = { startMs, heapBytes, firstRequestMs };
if (process.send) process.send(result, () => process.exit());
else {
  console.log(result);
  process.exit();
}

function imports() {
  if (library === undefined) return [];
  const rulesOfModule = Array.from({ length: moduleRules }, (_, i) => ({
    name: `module${i}`,
    scope: i % 2 ? 'handler' : 'app',
    window: '1h',
    limit: ROOMY,
  }));
  return [library.FreqLimitModule.forRoot({ redis: false, rules: rulesOfModule })];
}

function controllers() {
  return Array.from({ length: Math.ceil(handlers / perController) }, (_, i) =>
    controller(i, Math.min(perController, handlers - i * perController)),
  );
}

function controller(number, count) {
  const name = `Controller${number}`;
  const { [name]: classRef } = { [name]: class {} };
  for (let i = 0; i < count; i++) {
    const handler = `h${i}`;
    Object.defineProperty(classRef.prototype, handler, {
      value: { [handler]: () => 'ok' }[handler],
      writable: true,
      configurable: true,
    });
    const types = Reflect.metadata('design:paramtypes', [String]);
    for (const decorate of [Get(`${handler}/:id`), ...ruleDecorators(), types]) {
      decorateMethod(decorate, classRef, handler);
    }
  }
  Controller(`c${number}`)(classRef);
  return classRef;
}

function ruleDecorators() {
  if (library === undefined) return [];
  return Array.from({ length: rules }, (_, i) =>
    library.FreqLimit({ window: `${i + 1}h`, limit: ROOMY, key: KEYS[i % KEYS.length] }),
  );
}

function heapUsed() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
