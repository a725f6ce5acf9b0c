import type { FreqLimitOptions } from 'nestjs-freq-limit';
import { PLATFORMS } from './app.js';
import { redisUrl } from './redis.js';

/** Where counters live. */
export const KINDS = ['memory', 'redis'] as const;
export type Kind = (typeof KINDS)[number];

/** Each platform with each kind. */
export const EVERYWHERE = PLATFORMS.flatMap((platform) => KINDS.map((kind) => [platform, kind] as const));

/** Options that count there. What a server's slowness does is not what these tests try, so they have time. */
export function limitsIn(
  kind: Kind,
  { namespace }: { readonly namespace: string },
  timeoutMs = 5_000,
): FreqLimitOptions {
  return kind === 'redis' ? { redis: redisUrl(), namespace, timeoutMs } : {};
}
