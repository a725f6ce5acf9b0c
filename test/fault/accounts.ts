import type { Check, CheckResult } from '../../src/core/check.js';
import { leftByRefunds, type Stored } from './kinds.js';
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
  /** Units that were charged and then refunded, or may have been. */
  refunded: number;
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

const NOT_CHARGED: Account = { least: 0, most: 0, refunded: 0 };
const CHARGED: Account = { least: 1, most: 1, refunded: 0 };
const IN_DOUBT: Account = { least: 0, most: 1, refunded: 0 };

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
      const charge = chargeOf(result, refund, passes);
      const account = byKey.get(check.key) ?? NOT_CHARGED;
      byKey.set(check.key, {
        least: account.least + charge.least,
        most: account.most + charge.most,
        refunded: account.refunded + charge.refunded,
      });
    });
  }
  return { byKey, unanswered, kept, withoutStore };
}

function chargeOf(
  result: CheckResult | undefined,
  refund: ReturnType<RefundLedger['of']>,
  passes: boolean,
): Account {
  if (refund === 'given') return { ...NOT_CHARGED, refunded: 1 };
  if (refund === 'unanswered') return { ...IN_DOUBT, refunded: 1 };
  // charged late or not at all
  if (result?.source !== 'store') return IN_DOUBT;
  return result.allowed && passes ? CHARGED : NOT_CHARGED;
}

/** The counters whose count no answer and no missing answer explains. A block began when `limit` units were counted. */
export function unexplained(
  { byKey }: Accounts,
  counters: ReadonlyMap<string, Stored>,
  limit: number,
): string[] {
  const keys = new Set([...byKey.keys(), ...counters.keys()]);
  return [...keys].flatMap((key) => {
    const { least, most, refunded } = byKey.get(key) ?? NOT_CHARGED;
    const stored = counters.get(key) ?? 0;
    const isExplained =
      stored === 'blocked'
        ? least <= limit && limit <= most + refunded
        : stored >= least && stored <= most + (refunded > 0 ? leftByRefunds(key) : 0);
    return isExplained ? [] : [`${key} has ${stored} units, but its requests explain ${least} to ${most}`];
  });
}
