import { type Check, type CheckResult, type Measured, toMeasuredResult } from '../../core/check.js';
import { capacityOf } from '../../core/counter-kind.js';
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
    const after = measure(check, values.slice(3 * i, 3 * i + 3), result);
    return { ...toMeasuredResult(check, after), allowed: result.allowed };
  });
}

/** A block may have begun since the charge. The script does not get the limit, so it does not say how much is used then. */
function measure(check: Check, values: readonly unknown[], before: CheckResult): Measured {
  const [used, resetAfterMs, retry] = values.map((value) => toInteger(value as number)) as [
    number,
    number,
    number,
  ];
  if (retry >= 0) return { used, resetAfterMs, retryAfterMs: before.retryAfterMs, isBlocked: false };
  const capacity = capacityOf(check);
  return { used: capacity === Infinity ? 0 : capacity, resetAfterMs, retryAfterMs: -retry, isBlocked: true };
}
