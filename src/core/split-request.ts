import { type Check, type CheckResult, isPlain, passesAll, toMeasuredResult, toResult } from './check.js';
import { capacityOf } from './counter-kind.js';
import type { MaybePromise } from './maybe-promise.js';

/** A store that decides each group of checks in one step. */
export interface GroupStore {
  /** @param queuedAtMs when the request began to wait, by the clock that the store uses for waits; default: now */
  consume(checks: readonly Check[], refundable: boolean, queuedAtMs?: number): MaybePromise<CheckResult[]>;
  refund(checks: readonly Check[], results: readonly CheckResult[]): MaybePromise<CheckResult[]>;
}

/** A group store that can also peek. */
export interface PeekingStore extends GroupStore {
  peek(checks: readonly Check[]): MaybePromise<CheckResult[]>;
}

/** Checks of a request that are decided in one step, and their indexes in the request. */
export interface CheckGroup {
  readonly checks: Check[];
  readonly indexes: number[];
}

/** The results of each group. */
type GroupResults = readonly (readonly CheckResult[])[];

/** Groups checks by name; the checks of a group keep their order. */
export function groupChecks(checks: readonly Check[], groupOf: (check: Check) => string): CheckGroup[] {
  const groups = new Map<string, CheckGroup>();
  checks.forEach((check, index) => {
    const name = groupOf(check);
    const group = groups.get(name) ?? { checks: [], indexes: [] };
    groups.set(name, group);
    group.checks.push(check);
    group.indexes.push(index);
  });
  return [...groups.values()];
}

/** The results of all groups, in the order of the request's checks. */
export function inOriginalOrder(groups: readonly CheckGroup[], resultsOf: GroupResults): CheckResult[] {
  const results: CheckResult[] = [];
  groups.forEach(({ indexes }, g) => {
    indexes.forEach((index, i) => {
      const result = resultsOf[g]?.[i];
      if (result !== undefined) results[index] = result;
    });
  });
  return results;
}

/**
 * Decides a request whose checks cannot be decided in one step. All groups are charged in parallel, each whole or not at
 * all; if one denies or fails, the others are refunded. So no request passes above a limit. Another request may be denied
 * in the short time before the refund, although it would pass after it.
 * @throws the error of the first group that failed, after all have answered
 */
export async function consumeInGroups(
  groups: readonly CheckGroup[],
  store: GroupStore,
): Promise<CheckResult[]> {
  return inOriginalOrder(groups, await consumeAll(groups, store));
}

/**
 * Decides a request that is likely to be denied: it peeks at the groups before it charges any. A denied request then
 * charges nothing, not even for a moment, and takes no longer. So a client over its own limit cannot use up the counter
 * of another client by sending that client's value. Groups that count denied requests are charged at once.
 * @param queuedAtMs when the request began to wait
 * @throws like `consumeInGroups`
 */
export async function peekBeforeConsume(
  groups: readonly CheckGroup[],
  store: PeekingStore,
  queuedAtMs: number,
): Promise<CheckResult[]> {
  const chargedFirst = groups.filter(countsDenied);
  const others = groups.filter((group) => !countsDenied(group));
  const peeked = peekAll(others, store);
  const charged = await consumeAll(chargedFirst, store);
  let rest: GroupResults;
  try {
    rest = await peeked;
    const inTime = queuedSince(queuedAtMs, store);
    rest = await (allPass(chargedFirst, charged) && allPass(others, rest)
      ? consumeAll(others, inTime)
      : beginBlocks(others, rest, inTime));
  } catch (error) {
    // the request's time is over, so the refund is not awaited
    refundAll(chargedFirst, charged, store).catch(() => undefined);
    throw error;
  }
  const first =
    allPass(chargedFirst, charged) && !allPass(others, rest)
      ? await refundAll(chargedFirst, charged, store)
      : charged;
  return inOriginalOrder([...chargedFirst, ...others], [...first, ...rest]);
}

/** Charges the groups that cross a limit with blocks: they deny, and begin them. */
function beginBlocks(
  groups: readonly CheckGroup[],
  resultsOf: GroupResults,
  store: GroupStore,
): Promise<GroupResults> {
  return Promise.all(
    groups.map(async ({ checks }, g) => {
      const results = resultsOf[g] ?? [];
      if (!checks.some((check, i) => crosses(check, results[i]))) return results;
      // another request may have been refunded since the peek
      return refundGroup(checks, await store.consume(checks, true), store);
    }),
  );
}

function crosses(check: Check, result: CheckResult | undefined): boolean {
  const { block, cost } = check;
  if (block === undefined || cost === 0 || cost > capacityOf(check)) return false;
  return result?.allowed === false && result.blocked !== true;
}

function countsDenied({ checks }: CheckGroup): boolean {
  return checks.some(({ countDenied, cost }) => countDenied && cost > 0);
}

/** The results that the groups would have if the request were denied. */
function peekAll(groups: readonly CheckGroup[], store: PeekingStore): Promise<GroupResults> {
  const peeked = Promise.all(groups.map(async ({ checks }) => asDenied(checks, await store.peek(checks))));
  // it may fail before it is awaited
  peeked.catch(() => undefined);
  return peeked;
}

function queuedSince(queuedAtMs: number, store: GroupStore): GroupStore {
  return {
    consume: (checks, refundable) => store.consume(checks, refundable, queuedAtMs),
    refund: (checks, results) => store.refund(checks, results),
  };
}

/** Charges groups in parallel, and refunds them if one of them denies or fails. */
async function consumeAll(groups: readonly CheckGroup[], store: GroupStore): Promise<GroupResults> {
  const outcomes = await Promise.allSettled(groups.map(async ({ checks }) => store.consume(checks, true)));
  const results = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure === undefined && allPass(groups, results)) return results;
  const refunded = refundAll(groups, results, store);
  if (failure === undefined) return refunded;
  // the request's time is over, so the refund is not awaited
  refunded.catch(() => undefined);
  throw failure.reason;
}

/** Turns peeked results into those of a denied request: each check includes the costs of the checks before it. */
function asDenied(checks: readonly Check[], results: readonly CheckResult[]): CheckResult[] {
  const costs = new Map<string, number>();
  return results.map((result, i) => {
    const check = checks[i];
    if (check === undefined || result.source === 'allow') return result;
    const before = costs.get(check.key) ?? 0;
    costs.set(check.key, before + check.cost);
    return before === 0 ? result : withCostsBefore(check, result, before);
  });
}

function withCostsBefore(check: Check, result: CheckResult, costs: number): CheckResult {
  const { used, limit, resetAfterMs, source, allowed } = result;
  const isAllowed = allowed && used + costs + check.cost <= capacityOf({ ...check, limit });
  if (isPlain(check)) return toResult({ ...check, limit }, isAllowed, used, resetAfterMs, source);
  // after this time the counter is as new
  return isAllowed || !allowed
    ? result
    : { ...result, allowed: false, retryAfterMs: Math.max(resetAfterMs, 1) };
}

function refundAll(
  groups: readonly CheckGroup[],
  resultsOf: GroupResults,
  store: GroupStore,
): Promise<GroupResults> {
  return Promise.all(groups.map(({ checks }, g) => refundGroup(checks, resultsOf[g] ?? [], store)));
}

/** Refunds a group that allowed the request, except checks with `countDenied`. One that denied it was not charged. */
async function refundGroup(
  checks: readonly Check[],
  results: readonly CheckResult[],
  store: GroupStore,
): Promise<readonly CheckResult[]> {
  if (results.length === 0 || !passesAll(checks, results)) return results;
  const isCharged = checks.map(({ cost, countDenied }) => cost > 0 && !countDenied);
  const charged = checks.filter((_, i) => isCharged[i]);
  if (charged.length === 0) return withFinalCounts(checks, results, [], []);
  const chargedResults = results.filter((_, i) => isCharged[i]);
  return withFinalCounts(checks, results, charged, await store.refund(charged, chargedResults));
}

/** All checks of one counter report its final value. */
function withFinalCounts(
  checks: readonly Check[],
  results: readonly CheckResult[],
  charged: readonly Check[],
  refunded: readonly CheckResult[],
): CheckResult[] {
  const latest = new Map(checks.map(({ key }, i) => [key, results[i]]));
  charged.forEach(({ key }, i) => latest.set(key, refunded[i]));
  return results.map((result, i) => {
    const check = checks[i];
    const counter = check && latest.get(check.key);
    if (check === undefined || counter === undefined) return result;
    const { limit, allowed, retryAfterMs, source, blocked = false } = result;
    const { used, resetAfterMs } = counter;
    const ofCheck = { ...check, limit };
    return isPlain(check)
      ? toResult(ofCheck, allowed, used, resetAfterMs, source)
      : toMeasuredResult(ofCheck, { used, resetAfterMs, retryAfterMs, isBlocked: blocked }, source);
  });
}

function allPass(groups: readonly CheckGroup[], resultsOf: GroupResults): boolean {
  return resultsOf.every((results, g) => passesAll(groups[g]?.checks ?? [], results));
}
