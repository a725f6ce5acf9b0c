// Lets a process of a test run TypeScript, like Jest: node --import ./test/support/typescript.mjs FILE.ts
import { transform } from '@swc/core';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import config from '../../jest.config.js';

const ROOT = new URL('../../', import.meta.url);
const [, swc] = config.transform['^.+\\.ts$'];
/** The workspace whose majors of Nest and ioredis are used; none: the root's. */
const COMPAT = process.env.TEST_COMPAT ?? '';
const PEERS = /^(@nestjs\/(?!throttler(?:\/|$))[^/]+|ioredis)(\/.*)?$/;
const OURS = /^nestjs-freq-limit(?:\/(.*))?$/;

if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  const { parentURL = '' } = context;
  if (!parentURL.startsWith(ROOT.href) || !parentURL.endsWith('.ts')) return next(specifier, context);
  const ours = OURS.exec(specifier);
  if (ours !== null) return next(new URL(`src/${ours[1] ? `${ours[1]}/` : ''}index.ts`, ROOT).href, context);
  if (COMPAT !== '' && PEERS.test(specifier)) {
    return next(specifier, { ...context, parentURL: new URL(`compat/${COMPAT}/package.json`, ROOT).href });
  }
  const source = specifier.startsWith('.') && new URL(specifier.replace(/\.js$/, '.ts'), parentURL);
  return next(source && existsSync(source) ? source.href : specifier, context);
}

export async function load(url, context, next) {
  if (!url.startsWith(ROOT.href) || !url.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), {
    ...swc,
    filename,
    configFile: false,
    swcrc: false,
  });
  return { format: 'module', source: code, shortCircuit: true };
}
