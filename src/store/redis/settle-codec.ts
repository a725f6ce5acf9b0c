import { type Check, type CheckResult, toResult } from '../../core/check.js';
import { unpackArray } from './message-pack.js';
import { toInteger, UnexpectedReplyError } from './reply-values.js';

// The only place that knows the positions of the arguments and the reply of lua/refund.lua.

/** The refund of one check. */
export interface Refund {
  readonly check: Check;
  /** What `consume` has returned. */
  readonly result: CheckResult;
  /** What the script returned for the charge: for a fixed window its end, by the server's clock in milliseconds. */
  readonly token: number;
}

/** KEYS and ARGV of the call. */
export function encodeSettlements(refunds: readonly Refund[]): {
  readonly keys: string[];
  readonly args: string[];
} {
  return {
    keys: refunds.map(({ check }) => check.key),
    args: refunds.flatMap(({ check, token }) => [String(check.windowMs), String(token), String(check.cost)]),
  };
}

/** The results as they are after the refunds. */
export function readSettlements(refunds: readonly Refund[], reply: unknown): CheckResult[] {
  const values = unpackArray(reply);
  if (values.length !== 2 * refunds.length) throw new UnexpectedReplyError();
  return refunds.map(({ check, result }, i) =>
    toResult(check, result.allowed, toInteger(values[2 * i]), toInteger(values[2 * i + 1])),
  );
}
