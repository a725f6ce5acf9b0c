import type { Check } from '../../src/core/check.js';
import type { Block, CounterKind } from '../../src/core/counter-kind.js';
import { check } from './check.js';
import { periodAt } from './random-checks.js';

/** A kind of counter, with or without blocks. */
export interface KindCase {
  readonly name: string;
  readonly type: CounterKind['type'];
  readonly block: Block | undefined;
}

export interface KindParts extends Partial<Omit<Check, 'key' | 'kind'>> {
  /** The limit, or the burst of a token bucket, which refills as much per window. */
  readonly limit?: number;
  readonly windowMs?: number;
}

export const TYPES = ['fixed-window', 'calendar', 'sliding-window', 'token-bucket'] as const;
/** An hour after the window of most tests. */
export const BLOCK_MS = 3_600_000;
export const ONE_BLOCK: Block = { stepsMs: [BLOCK_MS], forgiveAfterMs: 1 };

/** Every kind, first without blocks. */
export const KIND_CASES: readonly KindCase[] = [undefined, ONE_BLOCK].flatMap((block) =>
  TYPES.map((type) => ({ name: `${type}${block === undefined ? '' : ' with a block'}`, type, block })),
);

/** A check on a counter of a kind, with a window of 1.6 s: a sub-window has 100 ms. */
export function checkOf(
  { type, block }: Omit<KindCase, 'name'>,
  key: string,
  nowMs: number,
  parts: KindParts = {},
): Check {
  const { windowMs = 1_600, limit = 5 } = parts;
  const kind: CounterKind =
    type === 'calendar'
      ? periodAt(nowMs, windowMs)
      : type === 'token-bucket'
        ? { type, burst: limit }
        : { type };
  return check(`${key}:${type}`, { block, ...parts, limit, windowMs, kind, group: 'kinds' });
}
