import { type Check, type CheckResult, toResult } from '../../core/check.js';
import { unpackArray } from './message-pack.js';
import { toInteger, UnexpectedReplyError } from './reply-values.js';

// The only place that knows the positions of the arguments and the reply of lua/settle.lua.

/** The charge of one check, and what the request really used. */
export interface SettledCharge {
  readonly check: Check;
  /** What `consume` has returned. */
  readonly result: CheckResult;
  /** What the script returned for the charge: for a fixed window its end, by the server's clock in milliseconds. */
  readonly token: number;
  /** What the request really used. */
  readonly cost: number;
}

/** KEYS and ARGV of the call. */
export function encodeSettlements(charges: readonly SettledCharge[]): {
  readonly keys: string[];
  readonly args: string[];
} {
  return {
    keys: charges.map(({ check }) => check.key),
    args: charges.flatMap(({ check, token, cost }) => [
      String(check.windowMs),
      String(token),
      String(cost - check.cost),
    ]),
  };
}

/** The results as they are after all settlements of the call. */
export function readSettlements(charges: readonly SettledCharge[], reply: unknown): CheckResult[] {
  const values = unpackArray(reply);
  if (values.length !== 2 * charges.length) throw new UnexpectedReplyError();
  return charges.map(({ check, result }, i) =>
    toResult(check, result.allowed, toInteger(values[2 * i]), toInteger(values[2 * i + 1])),
  );
}
