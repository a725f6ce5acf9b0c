import { beginsBlock, type Check, type CheckResult, passesAll, toSettledResult } from './check.js';
import type { MaybePromise } from './maybe-promise.js';

/** A store that decides each group of checks in one step. */
export interface GroupStore {
  /** @param queuedAtMs when the request began to wait, by the clock that the store uses for waits; default: now */
  consume(checks: readonly Check[], settleable: boolean, queuedAtMs?: number): MaybePromise<CheckResult[]>;
  settle(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
  ): MaybePromise<CheckResult[]>;
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
export function inOriginalOrder<T>(groups: readonly CheckGroup[], resultsOf: readonly (readonly T[])[]): T[] {
  const results: T[] = [];
  groups.forEach(({ indexes }, g) => {
    indexes.forEach((index, i) => {
      const group = resultsOf[g] ?? [];
      if (i < group.length) results[index] = group[i] as T;
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
  const later = queuedSince(queuedAtMs, store);
  let rest: GroupResults;
  try {
    rest = await peeked;
    const passes = allPass(chargedFirst, charged) && allPass(others, rest);
    rest = await (passes ? consumeAll(others, later) : beginBlocks(others, rest, later));
  } catch (error) {
    // the request's time is over, so the refund is not awaited
    refundAll(chargedFirst, charged, store).catch(() => undefined);
    throw error;
  }
  const isDeniedLater = allPass(chargedFirst, charged) && !allPass(others, rest);
  const first = isDeniedLater ? await refundAll(chargedFirst, charged, store) : charged;
  return inOriginalOrder([...chargedFirst, ...others], [...first, ...rest]);
}

/** Charges the groups that cross a limit with blocks: they deny, and begin them. Nothing else is charged. */
function beginBlocks(
  groups: readonly CheckGroup[],
  peeked: GroupResults,
  store: GroupStore,
): Promise<GroupResults> {
  return Promise.all(
    groups.map(async ({ checks }, g) => {
      const results = peeked[g] ?? [];
      if (!checks.some((check, i) => results[i] !== undefined && beginsBlock(check, results[i])))
        return results;
      const charged = await store.consume(checks, true);
      if (!passesAll(checks, charged)) return charged;
      // its counters have become lower since the peek, which has denied the request already
      await refundGroup(checks, charged, store);
      return results;
    }),
  );
}

function countsDenied({ checks }: CheckGroup): boolean {
  return checks.some(({ countDenied, cost }) => countDenied && cost > 0);
}

/** The results that the groups would have if the request were denied. */
function peekAll(groups: readonly CheckGroup[], store: PeekingStore): Promise<GroupResults> {
  const peeked = Promise.all(groups.map(({ checks }) => peekTogether(checks, store)));
  // it may fail before it is awaited
  peeked.catch(() => undefined);
  return peeked;
}

/** Peeks at the checks of a group as `consume` decides them: each includes the costs of the checks before it. */
async function peekTogether(checks: readonly Check[], store: PeekingStore): Promise<CheckResult[]> {
  const costs = new Map<string, number>();
  const together = checks.map((check) => {
    const cost = (costs.get(check.key) ?? 0) + check.cost;
    costs.set(check.key, cost);
    return cost === check.cost ? check : { ...check, cost };
  });
  const results = await store.peek(together);
  return results.map((result, i) =>
    together[i] === checks[i] ? result : { ...result, cost: checks[i]?.cost ?? result.cost },
  );
}

function queuedSince(queuedAtMs: number, store: GroupStore): GroupStore {
  return {
    consume: (checks, settleable) => store.consume(checks, settleable, queuedAtMs),
    settle: (checks, results, costs) => store.settle(checks, results, costs),
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
  const nothing = charged.map(() => 0);
  return withFinalCounts(checks, results, charged, await store.settle(charged, chargedResults, nothing));
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
    return toSettledResult({ ...check, limit: result.limit }, result, counter);
  });
}

function allPass(groups: readonly CheckGroup[], resultsOf: GroupResults): boolean {
  return groups.every(({ checks }, g) => passesAll(checks, resultsOf[g] ?? []));
}
