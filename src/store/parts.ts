import { type Check, type CheckResult, toResult } from '../core/check.js';
import type { MaybePromise } from '../core/maybe-promise.js';

/** Who decides about the parts of a request. */
export interface PartStore {
  consume(checks: readonly Check[], refundable: boolean): MaybePromise<CheckResult[]>;
  refund(checks: readonly Check[], results: readonly CheckResult[]): MaybePromise<CheckResult[]>;
}

/** Some checks of a request, and their places in it. */
export interface Part {
  readonly checks: Check[];
  readonly places: number[];
}

/** Sorts checks into parts; the checks of one part keep their order. */
export function partsOf(checks: readonly Check[], partOf: (check: Check) => string): Part[] {
  const parts = new Map<string, Part>();
  checks.forEach((check, place) => {
    const name = partOf(check);
    const part = parts.get(name) ?? { checks: [], places: [] };
    parts.set(name, part);
    part.checks.push(check);
    part.places.push(place);
  });
  return [...parts.values()];
}

/** Puts the answers of the parts where their checks stood. */
export function joined(parts: readonly Part[], answers: readonly (readonly CheckResult[])[]): CheckResult[] {
  const results: CheckResult[] = [];
  parts.forEach(({ places }, p) => {
    places.forEach((place, i) => {
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
export async function consumeInParts(parts: readonly Part[], store: PartStore): Promise<CheckResult[]> {
  const asked = await Promise.allSettled(parts.map(async ({ checks }) => store.consume(checks, true)));
  const answers = asked.map((one) => (one.status === 'fulfilled' ? one.value : []));
  const failure = asked.find((one) => one.status === 'rejected');
  if (failure === undefined && answers.every(passes)) return joined(parts, answers);
  const given = Promise.all(parts.map(({ checks }, p) => giveBack(store, checks, answers[p] ?? [])));
  if (failure === undefined) return joined(parts, await given);
  // this visit has had its time
  given.catch(() => undefined);
  throw failure.reason;
}

/** A part that denies has charged nothing that it should not; `countDenied` counts in any case. */
async function giveBack(
  store: PartStore,
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

function passes(results: readonly CheckResult[]): boolean {
  return results.every(({ allowed }) => allowed);
}
