import type { Check } from '../../core/check.js';
import { leaseOf } from '../../core/counter-kind.js';
import { unpackArray } from './message-pack.js';
import { UnexpectedReplyError } from './reply-values.js';

// The only place that knows the positions of the arguments and the reply of lua/renew.lua.

const WAS_GONE = 0;
const WAS_THERE = 1;

/** KEYS and ARGV of the call. Checks with the same key come one after the other. */
export function encodeRenewals(checks: readonly Check[]): {
  readonly keys: string[];
  readonly args: string[];
} {
  const keys = new Map<string, (number | string)[]>();
  for (const check of checks) {
    const { key, windowMs } = check;
    const values = keys.get(key) ?? [windowMs, 0];
    values[1] = values.push(leaseOf(check)) - 2;
    keys.set(key, values);
  }
  return { keys: [...keys.keys()], args: [JSON.stringify([...keys.values()].flat())] };
}

/**
 * For each check whether its lease was still there, or the error of its key.
 * @throws {TypeError} if the reply is not from this script
 */
export function readRenewals(checks: readonly Check[], reply: unknown): (boolean | string)[] {
  const values = unpackArray(reply);
  if (values.length !== checks.length) throw new UnexpectedReplyError();
  return values.map((value) => {
    if (value === WAS_THERE) return true;
    if (value === WAS_GONE) return false;
    if (typeof value === 'string') return value;
    throw new UnexpectedReplyError();
  });
}
