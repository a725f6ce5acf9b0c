import type { Check, CheckResult } from '../../src/core/check.js';
import type { RefundLedger } from './refund-ledger.js';

/** One request and its results; `undefined` if its policy denied it as a whole. */
export interface SentRequest {
  readonly checks: readonly Check[];
  readonly results: readonly CheckResult[] | undefined;
  readonly waitMs: number;
  /** The part of the wait in which this process itself was blocked. */
  readonly stallMs: number;
}

/** The lowest and highest count that the answers of its requests allow for a counter. */
interface Account {
  least: number;
  most: number;
}

export interface Accounts {
  readonly byKey: ReadonlyMap<string, Account>;
  /** Refunds without an answer, which may have been executed: besides late charges the only reason for doubt. */
  readonly unanswered: readonly string[];
  /** Checks that were answered without the store, which may have been charged late. */
  readonly withoutStore: number;
  /** Charged by requests that were denied, and never refunded. */
  readonly kept: readonly string[];
}

const NOT_CHARGED = { least: 0, most: 0 };
const CHARGED = { least: 1, most: 1 };
const IN_DOUBT = { least: 0, most: 1 };

export function accountsOf(requests: readonly SentRequest[], ledger: RefundLedger): Accounts {
  const byKey = new Map<string, Account>();
  const [unanswered, kept]: [string[], string[]] = [[], []];
  let withoutStore = 0;
  for (const { checks, results } of requests) {
    const passes = results?.every(({ allowed }) => allowed) === true;
    checks.forEach((check, i) => {
      const [result, refund] = [results?.[i], ledger.of(check)];
      const isCharged = result?.source === 'store' && result.allowed;
      if (refund === 'unanswered') unanswered.push(check.key);
      else if (refund === undefined && isCharged && !passes) kept.push(check.key);
      if (refund === undefined && result?.source !== 'store') withoutStore++;
      const { least, most } = chargeOf(result, refund, passes);
      const account = byKey.get(check.key) ?? { ...NOT_CHARGED };
      byKey.set(check.key, { least: account.least + least, most: account.most + most });
    });
  }
  return { byKey, unanswered, kept, withoutStore };
}

function chargeOf(
  result: CheckResult | undefined,
  refund: ReturnType<RefundLedger['of']>,
  passes: boolean,
): Account {
  if (refund === 'given') return NOT_CHARGED;
  if (refund === 'unanswered') return IN_DOUBT;
  // charged late or not at all
  if (result?.source !== 'store') return IN_DOUBT;
  return result.allowed && passes ? CHARGED : NOT_CHARGED;
}

/** The counters whose count no answer and no missing answer explains. */
export function unexplained({ byKey }: Accounts, counters: ReadonlyMap<string, number>): string[] {
  const keys = new Set([...byKey.keys(), ...counters.keys()]);
  return [...keys].flatMap((key) => {
    const { least, most } = byKey.get(key) ?? NOT_CHARGED;
    const units = counters.get(key) ?? 0;
    return units >= least && units <= most
      ? []
      : [`${key} has ${units} units, but its requests explain ${least} to ${most}`];
  });
}
