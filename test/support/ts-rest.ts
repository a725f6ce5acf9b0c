import * as common from '@nestjs/common';
import * as core from '@nestjs/core';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

// `@ts-rest/nest` is CommonJS and requires Nest. Jest does not find the package, which is installed for Nest 11 only, and
// cannot require the ES modules of Nest 12. This runs the only file of the package with the Nest of the tests.

interface TsRest {
  TsRestHandler(contract: object): MethodDecorator;
  tsRestHandler<T>(contract: object, implementation: T): T;
}

interface TsRestCore {
  initContract(): { router<T extends object>(routes: T): T };
}

const file = new URL('../../compat/nest-11/node_modules/@ts-rest/nest/index.cjs.js', import.meta.url);
const nodeRequire = createRequire(file);

function requireFrom(name: string): unknown {
  if (name === '@nestjs/common') return common;
  if (name === '@nestjs/core') return core;
  return nodeRequire(name);
}

const exported = {};
// eslint-disable-next-line @typescript-eslint/no-implied-eval -- like Node runs a CommonJS file
new Function('exports', 'require', readFileSync(file, 'utf8'))(exported, requireFrom);

export const { TsRestHandler, tsRestHandler } = exported as TsRest;
export const { initContract } = nodeRequire('@ts-rest/core') as TsRestCore;
