import { type Check, type CheckResult, toResult } from '../../core/check.js';

// The only place that knows the positions of lua/consume.lua's arguments and reply.

const CHARGE = '1';
const LOOK = '0';
const NO_LIMIT = '-1';

/** ARGV: charge or look, then window, limit, cost and countDenied of each check. */
export function encodeArguments(checks: readonly Check[], charging: boolean): string[] {
  const args = [charging ? CHARGE : LOOK];
  for (const { windowMs, limit, cost, countDenied } of checks) {
    args.push(
      String(windowMs),
      limit === Infinity ? NO_LIMIT : String(limit),
      String(cost),
      countDenied ? '1' : '0',
    );
  }
  return args;
}

/** Reply: used and left of each check; a check that denies answers -left - 1. */
export function decodeReply(checks: readonly Check[], reply: unknown): CheckResult[] {
  if (!Array.isArray(reply) || reply.length !== 2 * checks.length) throw notOurs();
  return checks.map((check, i) => {
    const used = integer(reply[2 * i]);
    const left = integer(reply[2 * i + 1]);
    return left < 0 ? toResult(check, false, used, -left - 1) : toResult(check, true, used, left);
  });
}

/** Large numbers come as texts, and from a client with `stringNumbers` all of them. */
function integer(value: unknown): number {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) throw notOurs();
  return number;
}

function notOurs(): TypeError {
  return new TypeError('Redis answered what the script never does; is another script running in its place?');
}
