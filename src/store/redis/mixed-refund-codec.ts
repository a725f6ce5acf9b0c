import { type CheckResult, toMeasuredResult } from '../../core/check.js';
import { unpackArray } from './message-pack.js';
import { MODES, ONE_BY_ONE, runOf } from './mixed-codec.js';
import type { Refund } from './refund-codec.js';
import { toInteger, UnexpectedReplyError } from './reply-values.js';

// A refund is a request of lua/consume-mixed.lua: see mixed-codec.ts.

const EACH = 1;

/** KEYS and ARGV of the call. */
export function encodeMixedRefunds(refunds: readonly Refund[]): {
  readonly keys: string[];
  readonly args: string[];
} {
  const keys: string[] = [];
  const runs: number[] = [];
  let requests = '';
  for (const { check, token } of refunds) {
    let k = keys.indexOf(check.key) + 1;
    if (k === 0) {
      k = keys.push(check.key);
      runs.push(...runOf(check, check.limit, ONE_BY_ONE, 1));
    }
    requests += `-${k},${token},${check.cost},${MODES.refund},0,`;
  }
  return { keys, args: [JSON.stringify([requests, ...runs])] };
}

/**
 * The results as they are after the refunds.
 * @throws {TypeError} if the reply is not from this script
 */
export function readMixedRefunds(refunds: readonly Refund[], reply: unknown): CheckResult[] {
  const [kind, ...values] = unpackArray(reply);
  if (kind !== EACH || values.length !== 3 * refunds.length) throw new UnexpectedReplyError();
  return refunds.map(({ check, result }, i) => {
    // the key is not a counter any more
    if (typeof values[3 * i] === 'string') return result;
    const used = toInteger(values[3 * i]);
    const resetAfterMs = toInteger(values[3 * i + 1]);
    const { retryAfterMs, blocked = false, allowed } = result;
    return { ...toMeasuredResult(check, { used, resetAfterMs, retryAfterMs, isBlocked: blocked }), allowed };
  });
}
