import type { Cluster, Redis } from 'ioredis';
import { type FreqLimitError, formatError, invalidOptions } from '../../core/errors.js';

/** The constructors as ioredis 5 and 6 share them; their types differ in other options. */
export interface Ioredis {
  readonly Redis: new (...args: [options: object] | [url: string, options: object]) => Redis;
  readonly Cluster: new (nodes: readonly unknown[], options: object) => Cluster;
}

/** In quotes, because a shell would read its characters as commands. The range is that of the package's peer. */
const INSTALL = 'npm install "ioredis@^5.3.0 || ^6.0.0"';

/**
 * Loads ioredis, which is an optional package.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` if it is missing, too old or broken
 */
export async function loadIoredis(load: () => Promise<unknown> = () => import('ioredis')): Promise<Ioredis> {
  let loaded: Partial<Ioredis>;
  try {
    loaded = (await load()) as Partial<Ioredis>;
  } catch (error) {
    throw notLoaded(error);
  }
  if (typeof loaded.Redis === 'function') return loaded as Ioredis;
  throw invalidOptions(
    `FreqLimitModule: redis: the installed package ioredis has no class Redis, so it is too old; run ${INSTALL}`,
  );
}

function notLoaded(error: unknown): FreqLimitError {
  return invalidOptions(
    isMissing(error)
      ? `FreqLimitModule: redis: the package ioredis is not installed; run ${INSTALL}`
      : `FreqLimitModule: redis: the package ioredis cannot be loaded: ${formatError(error)}. Install it again: ${INSTALL}`,
    error,
  );
}

/** Whether the package itself was not found, and not a file or another package that it needs. */
function isMissing(error: unknown): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  const isNotFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return isNotFound && /(?:package|module) ['"]ioredis['"]/i.test(String(message));
}
