import { type Check, type CheckResult, toResult } from './check.js';
import type { MaybePromise } from './maybe-promise.js';

/** Who decides about the parts of a request. */
export interface GroupStore {
  /** @param queuedAtMs when the request began to wait, by the clock that the store uses for waits; default: now */
  consume(checks: readonly Check[], refundable: boolean, queuedAtMs?: number): MaybePromise<CheckResult[]>;
  refund(checks: readonly Check[], results: readonly CheckResult[]): MaybePromise<CheckResult[]>;
}

/** A part store that can also peek at a part. */
export interface PeekingStore extends GroupStore {
  peek(checks: readonly Check[]): MaybePromise<CheckResult[]>;
}

/** Some checks of a request, and their places in it. */
export interface CheckGroup {
  readonly checks: Check[];
  readonly indexes: number[];
}

/** Sorts checks into parts; the checks of one part keep their order. */
export function groupChecks(checks: readonly Check[], partOf: (check: Check) => string): CheckGroup[] {
  const parts = new Map<string, CheckGroup>();
  checks.forEach((check, place) => {
    const name = partOf(check);
    const part = parts.get(name) ?? { checks: [], indexes: [] };
    parts.set(name, part);
    part.checks.push(check);
    part.indexes.push(place);
  });
  return [...parts.values()];
}

/** Puts the answers of the parts where their checks stood. */
export function inOriginalOrder(
  parts: readonly CheckGroup[],
  answers: readonly (readonly CheckResult[])[],
): CheckResult[] {
  const results: CheckResult[] = [];
  parts.forEach(({ indexes }, p) => {
    indexes.forEach((place, i) => {
      const result = answers[p]?.[i];
      if (result !== undefined) results[place] = result;
    });
  });
  return results;
}

/**
 * Decides a request whose checks cannot be decided in one step. All parts are asked at once, each all or none; where
 * one of them denies or fails, what the others have charged is given back. So it never lets pass what is too much, and
 * for the moment between may deny a visit that would have passed.
 * @throws what a part has failed of, when the others have answered
 */
export async function consumeInGroups(
  parts: readonly CheckGroup[],
  store: GroupStore,
): Promise<CheckResult[]> {
  return inOriginalOrder(parts, await decide(parts, store));
}

/**
 * Decides a request that is likely to be denied: its parts are peeked before any is charged. A denied request then charges
 * nothing, not even for a moment, and waits no longer. So a client over its own limit cannot use up the counter of another
 * client by sending that client's value. Parts with checks that count when denied are charged at once.
 * @param queuedAtMs when the request began to wait
 * @throws as `consumeInParts` does
 */
export async function peekBeforeConsume(
  parts: readonly CheckGroup[],
  store: PeekingStore,
  queuedAtMs: number,
): Promise<CheckResult[]> {
  const [first, others] = [parts.filter(countsDenied), parts.filter((part) => !countsDenied(part))];
  const looks = lookAt(others, store);
  const charged = await decide(first, store);
  let rest: Answers;
  try {
    rest = await looks;
    if (allPass(charged) && allPass(rest)) rest = await decide(others, since(queuedAtMs, store));
  } catch (error) {
    // the request's time is over, so the refund is not awaited
    refundAll(first, charged, store).catch(() => undefined);
    throw error;
  }
  const kept = allPass(charged) && !allPass(rest) ? await refundAll(first, charged, store) : charged;
  return inOriginalOrder([...first, ...others], [...kept, ...rest]);
}

type Answers = readonly (readonly CheckResult[])[];

function countsDenied({ checks }: CheckGroup): boolean {
  return checks.some(({ countDenied, cost }) => countDenied && cost > 0);
}

/** The results that the parts would have if the request were denied. */
function lookAt(parts: readonly CheckGroup[], store: PeekingStore): Promise<Answers> {
  const looks = Promise.all(parts.map(async ({ checks }) => asDenied(checks, await store.peek(checks))));
  // it may be awaited later than it fails
  looks.catch(() => undefined);
  return looks;
}

function since(queuedAtMs: number, store: GroupStore): GroupStore {
  return {
    consume: (checks, refundable) => store.consume(checks, refundable, queuedAtMs),
    refund: (checks, results) => store.refund(checks, results),
  };
}

/** Charges parts in parallel, and refunds them if one of them denies or fails. */
async function decide(parts: readonly CheckGroup[], store: GroupStore): Promise<Answers> {
  const asked = await Promise.allSettled(parts.map(async ({ checks }) => store.consume(checks, true)));
  const answers = asked.map((one) => (one.status === 'fulfilled' ? one.value : []));
  const failure = asked.find((one) => one.status === 'rejected');
  if (failure === undefined && allPass(answers)) return answers;
  const given = refundAll(parts, answers, store);
  if (failure === undefined) return given;
  // this visit has had its time
  given.catch(() => undefined);
  throw failure.reason;
}

/** Turns peeked results into those of a denied request: each check includes the costs of the checks before it. */
function asDenied(checks: readonly Check[], looks: readonly CheckResult[]): CheckResult[] {
  const costs = new Map<string, number>();
  return looks.map((look, i) => {
    const check = checks[i];
    if (check === undefined || look.source === 'allow') return look;
    const cost = (costs.get(check.key) ?? 0) + check.cost;
    costs.set(check.key, cost);
    const { used, limit, resetAfterMs, source } = look;
    return toResult({ ...check, limit }, used + cost <= limit, used, resetAfterMs, source);
  });
}

function refundAll(parts: readonly CheckGroup[], answers: Answers, store: GroupStore): Promise<Answers> {
  return Promise.all(parts.map(({ checks }, p) => refund(store, checks, answers[p] ?? [])));
}

/** A part that denies has charged nothing that it should not; `countDenied` counts in any case. */
async function refund(
  store: GroupStore,
  checks: readonly Check[],
  results: readonly CheckResult[],
): Promise<readonly CheckResult[]> {
  if (!passes(results)) return results;
  const charged = checks.map(({ cost, countDenied }) => cost > 0 && !countDenied);
  const refunded = checks.filter((_, i) => charged[i]);
  if (results.length === 0) return results;
  const after = results.filter((_, i) => charged[i]);
  const given = refunded.length === 0 ? [] : await store.refund(refunded, after);
  // checks of one counter are answered alike in a denied request: what it has come to
  const now = new Map(checks.map(({ key }, i) => [key, results[i]]));
  refunded.forEach(({ key }, i) => now.set(key, given[i]));
  return results.map((result, i) => {
    const check = checks[i];
    const counter = check && now.get(check.key);
    if (check === undefined || counter === undefined) return result;
    const { limit, allowed, source } = result;
    return toResult({ ...check, limit }, allowed, counter.used, counter.resetAfterMs, source);
  });
}

function allPass(answers: Answers): boolean {
  return answers.every(passes);
}

function passes(results: readonly CheckResult[]): boolean {
  return results.every(({ allowed }) => allowed);
}
