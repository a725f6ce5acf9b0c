import type { Block, CounterKind } from '../core/counter-kind.js';
import { formatForLog } from '../core/errors.js';
import { toWindowMs } from './window.js';

const MAX_STEPS = 10;
const DAY_MS = 86_400_000;
/** Waiting to be forgiven must not pay: what a client gains by it is less than `MAX_STEPS` times the last length. */
const FORGIVEN_AFTER_STEPS = MAX_STEPS;

/**
 * Reads `blockFor`: the lengths of the blocks in milliseconds.
 * @throws {TypeError | RangeError} if it is wrong; the message says what to write
 */
export function readBlockFor(given: unknown): readonly number[] {
  // unlike map, this also reads the holes of a list
  const steps: readonly unknown[] = Array.isArray(given) ? Array.from(given) : [given];
  if (steps.length === 0 || steps.length > MAX_STEPS) {
    throw new RangeError(
      `a list of ${steps.length} lengths is not possible; write 1 to ${MAX_STEPS}, such as ['1m', '10m', '1h']`,
    );
  }
  const stepsMs = steps.map(readLength);
  const shorter = stepsMs.findIndex((ms, i) => ms < (stepsMs[i - 1] ?? 0));
  if (shorter === -1) return stepsMs;
  throw new RangeError(
    `${formatForLog(steps[shorter])} is shorter than ${formatForLog(steps[shorter - 1])} before it; write the shortest length first`,
  );
}

/**
 * Reads `forgiveAfter`, in milliseconds.
 * @throws {RangeError} if it is wrong; the message says what to write
 */
export function readLength(given: unknown): number {
  return toWindowMs(given, 'length of time');
}

/**
 * The block of a rule or a check.
 * @returns `undefined` if it has none
 */
export function blockOf(
  stepsMs: readonly number[] | undefined,
  forgiveAfterMs: number | undefined,
): Block | undefined {
  return stepsMs && { stepsMs, forgiveAfterMs: forgiveAfterMs ?? defaultForgiveAfter(stepsMs) };
}

/** Whether a cost is more than a counter ever allows. */
export function isAboveAll(cost: number, limit: number, kind: CounterKind): boolean {
  return cost > (kind.type === 'token-bucket' ? kind.burst : limit);
}

function defaultForgiveAfter(stepsMs: readonly number[]): number {
  const ms = Math.max(DAY_MS, FORGIVEN_AFTER_STEPS * (stepsMs.at(-1) ?? 0));
  return Math.min(ms, Number.MAX_SAFE_INTEGER);
}
