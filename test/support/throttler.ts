import * as common from '@nestjs/common';
import * as core from '@nestjs/core';
import type * as throttler from '@nestjs/throttler';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// `@nestjs/throttler` is CommonJS and requires Nest, whose 12 is ES modules: Node can do that, Jest before Node 24.9
// cannot. Jest loads this file instead, which runs the files of the package with the Nest of the tests.

const nodeRequire = createRequire(import.meta.url);
const dist = fileURLToPath(new URL('../../node_modules/@nestjs/throttler/dist/', import.meta.url));
const loaded = new Map<string, object>();

function load(file: string): object {
  const known = loaded.get(file);
  if (known !== undefined) return known;
  const exported = {};
  loaded.set(file, exported);
  const requireFrom = (name: string): unknown => {
    if (name === '@nestjs/common') return common;
    if (name === '@nestjs/core') return core;
    return name.startsWith('.') ? load(`${join(dirname(file), name)}.js`) : nodeRequire(name);
  };
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- like Node runs a CommonJS file
  new Function('exports', 'require', readFileSync(file, 'utf8'))(exported, requireFrom);
  return exported;
}

export const {
  SkipThrottle,
  Throttle,
  ThrottlerException,
  ThrottlerGuard,
  ThrottlerModule,
  ThrottlerStorageService,
  days,
  hours,
  minutes,
  seconds,
  weeks,
} = load(join(dist, 'index.js')) as typeof throttler;
