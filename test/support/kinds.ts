import type { FreqLimitOptions } from 'nestjs-freq-limit';
import { PLATFORMS } from './app.js';
import { redisUrl } from './redis.js';

/** The kinds of stores. */
export const KINDS = ['memory', 'redis'] as const;
export type Kind = (typeof KINDS)[number];

/** Each platform with each kind. */
export const EVERYWHERE = PLATFORMS.flatMap((platform) => KINDS.map((kind) => [platform, kind] as const));

/** Options for a kind of store. The time limit is long, since a slow server is not the subject of these tests. */
export function limitsIn(
  kind: Kind,
  { namespace }: { readonly namespace: string },
  timeoutMs = 5_000,
): FreqLimitOptions {
  return kind === 'redis' ? { redis: redisUrl(), namespace, timeoutMs } : {};
}
