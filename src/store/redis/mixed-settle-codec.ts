import { type Check, type CheckResult, toSettledResult } from '../../core/check.js';
import { capacityOf, leaseOf } from '../../core/counter-kind.js';
import { unpackArray } from './message-pack.js';
import { MODES, ONE_BY_ONE, runOf } from './mixed-codec.js';
import type { SettledCharge } from './settle-codec.js';
import { toInteger, UnexpectedReplyError } from './reply-values.js';

// A settlement is a request of lua/consume-mixed.lua: see mixed-codec.ts.

const EACH = 1;

/** KEYS and ARGV of the call. */
export function encodeMixedSettlements(charges: readonly SettledCharge[]): {
  readonly keys: string[];
  readonly args: string[];
} {
  const counters = new Map<
    string,
    { readonly k: number; readonly check: Check; readonly leases: string[] }
  >();
  let requests = '';
  for (const { check, token, cost } of charges) {
    const counter = counters.get(check.key) ?? { k: counters.size + 1, check, leases: [] };
    counters.set(check.key, counter);
    if (check.kind.type === 'concurrency') counter.leases.push(leaseOf(check));
    requests += `-${counter.k},${token},${check.cost},${MODES.settle},${cost},0,`;
  }
  const runs = [...counters.values()].flatMap((one) => runOf(one.check, one.check.limit, ONE_BY_ONE, [one]));
  return { keys: [...counters.keys()], args: [JSON.stringify([requests, ...runs])] };
}

/**
 * The results as they are after all settlements.
 * @throws {TypeError} if the reply is not from this script
 */
export function readMixedSettlements(charges: readonly SettledCharge[], reply: unknown): CheckResult[] {
  const [kind, ...values] = unpackArray(reply);
  if (kind !== EACH || values.length !== 3 * charges.length) throw new UnexpectedReplyError();
  const last = new Map(charges.map(({ check }, i) => [check.key, values.slice(3 * i)]));
  return charges.map(({ check, result }) => {
    const [used, reset, retry] = last.get(check.key) ?? [];
    // the key is not a counter any more
    if (typeof used === 'string') return result;
    const isBlocked = toInteger(retry) < 0;
    return toSettledResult(check, result, {
      used: isBlocked ? unitsOfBlock(check) : toInteger(used),
      resetAfterMs: toInteger(reset),
    });
  });
}

/** The script does not know the limit of a settlement, which is what a blocked counter has. */
function unitsOfBlock(check: Check): number {
  const capacity = capacityOf(check);
  return capacity === Infinity ? 0 : capacity;
}
