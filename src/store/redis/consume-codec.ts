import { type Check, type CheckResult, toMeasuredResult, toResult } from '../../core/check.js';
import { type Batch, type CounterEntry, NO_TOKEN, type PendingRequest } from './batch.js';
import { unpackArray } from './message-pack.js';
import { toInteger, UnexpectedReplyError } from './reply-values.js';

// The only place that knows the positions of the arguments and the reply of lua/consume.lua.

const NO_LIMIT = -1;
const TOO_LARGE = -1;
const ALL_PASS = 0;
const EACH = 1;
const WANTS_ENDS = '@';
/** Instead of the units of a check. */
const BLOCKED = -1;

/** KEYS and ARGV of the call. Counters with the same window, limit and cost are a run of KEYS. Call it once for a batch. */
export function encodeBatch(batch: Batch): { readonly keys: string[]; readonly args: string[] } {
  const { counters } = batch;
  // of the right length; most keys are in their place already
  const keys = counters.map(({ key }) => key);
  let keyCount = 0;
  let runs = '';
  for (let from = 0; from < counters.length; from++) {
    const first = counters[from];
    if (first?.keyIndex !== 0) continue;
    const before = keyCount;
    keyCount = addRun(keys, keyCount, counters, from);
    const { windowMs, limit, cost } = first;
    runs += `,${windowMs},${sentLimit(limit)},${sentCost(cost)},${keyCount - before}`;
  }
  return { keys, args: [`["${requestsText(batch)}"${runs}]`] };
}

/**
 * Adds the keys of the counters from an index on that are like the first one of them and not in a run yet.
 * @returns the number of keys then
 */
function addRun(keys: string[], keyCount: number, counters: readonly CounterEntry[], from: number): number {
  const first = counters[from];
  let count = keyCount;
  for (let i = from; i < counters.length; i++) {
    const counter = counters[i];
    if (first === undefined || counter?.keyIndex !== 0 || !isAlike(first, counter)) continue;
    keys[count++] = counter.key;
    counter.keyIndex = count;
  }
  return count;
}

function isAlike(a: CounterEntry, b: CounterEntry): boolean {
  return a.windowMs === b.windowMs && a.limit === b.limit && a.cost === b.cost;
}

/** The requests as the script reads them if not all of them pass; short, because it travels with each call. */
function requestsText({ requests, wantsTokens }: Batch): string {
  let text = wantsTokens ? WANTS_ENDS : '';
  for (const { checks, counters, charging } of requests) {
    for (let i = 0; i < checks.length; i++) text += checkText(checks[i], counters[i], charging);
    text += '0,';
  }
  return text;
}

function checkText(check: Check | undefined, counter: CounterEntry | undefined, charging: boolean): string {
  if (check === undefined || counter === undefined) return '';
  if (!charging) return `-${counter.keyIndex},${NO_LIMIT},0,`;
  const { limit, cost, countDenied } = check;
  if (cost === 1 && limit === counter.limit && !countDenied) return `${counter.keyIndex},`;
  return `-${counter.keyIndex},${sentLimit(limit)},${countDenied ? '-' : ''}${cost},`;
}

function sentLimit(limit: number): number {
  return limit === Infinity ? NO_LIMIT : limit;
}

function sentCost(cost: number): number {
  return cost <= Number.MAX_SAFE_INTEGER ? cost : TOO_LARGE;
}

type Values = readonly (number | string)[];
type Value = Values[number] | undefined;

/**
 * Gives each request of a batch its results from the reply of the call.
 * @param toError makes the error of a request from an error of the server, such as for a key that does not hold a counter
 * @returns how many counters the call has created
 * @throws {TypeError} if the reply is not from this script
 */
export function readReply(batch: Batch, reply: unknown, toError: (error: string) => Error): number {
  const values = unpackArray(reply);
  const [kind] = values;
  const ends = batch.wantsTokens ? values.slice(-batch.counters.length).map(toInteger) : [];
  const count = values.length - 1 - ends.length;
  if (kind === ALL_PASS && count === 2 * batch.counters.length) return readAll(batch, values, ends);
  if (kind === EACH && count === 2 * batch.checkCount) return readEach(batch, values, ends, toError);
  throw new UnexpectedReplyError();
}

/** All requests pass: from the final state of a counter, the result of each check is computed in the order of arrival. */
function readAll(batch: Batch, values: Values, ends: readonly number[]): number {
  let created = 0;
  for (const counter of batch.counters) {
    counter.used = toInteger(values[2 * counter.keyIndex - 1]) - counter.cost;
    if (counter.used === 0 && counter.cost > 0) created++;
    counter.leftMs = toInteger(values[2 * counter.keyIndex]);
  }
  for (const request of batch.requests) {
    const { checks, counters, charging } = request;
    const results = checks.map((check, i) => nextResult(check, counters[i], charging));
    resolve(request, results, ends);
  }
  return created;
}

/** The result of the next check on a counter. */
function nextResult(check: Check, counter: CounterEntry | undefined, charging: boolean): CheckResult {
  if (counter === undefined) throw new UnexpectedReplyError();
  if (charging) counter.used += check.cost;
  const { used, leftMs } = counter;
  return toResult(check, charging || used + check.cost <= check.limit, used, used === 0 ? 0 : leftMs);
}

/** Some request does not pass: the reply has the numbers of each check. */
function readEach(
  batch: Batch,
  values: Values,
  ends: readonly number[],
  toError: (error: string) => Error,
): number {
  let created = 0;
  // the first value is the kind of the reply
  let next = 1;
  for (const request of batch.requests) {
    const { checks, charging } = request;
    const from = next;
    next += 2 * checks.length;
    const error = values[from];
    if (typeof error === 'string') {
      request.reject(toError(error));
      continue;
    }
    const results = checks.map((check, i) =>
      readResult(check, charging, values[from + 2 * i], values[from + 2 * i + 1]),
    );
    if (charging) created += createdBy(checks, results);
    resolve(request, results, ends);
  }
  return created;
}

function readResult(check: Check, charging: boolean, usedValue: Value, leftValue: Value): CheckResult {
  const used = toInteger(usedValue);
  const leftMs = toInteger(leftValue);
  if (used === BLOCKED) return blockedResult(check, leftMs < 0 ? -leftMs - 1 : leftMs);
  if (leftMs < 0) return toResult(check, false, used, -leftMs - 1);
  return toResult(check, charging || used + check.cost <= check.limit, used, leftMs);
}

/** A check of a rule without blocks may use a counter that another rule blocks. Only a check without a limit passes then. */
function blockedResult(check: Check, leftMs: number): CheckResult {
  const { limit } = check;
  const isBlocked = limit < Infinity;
  const retryAfterMs = isBlocked ? Math.max(leftMs, 1) : 0;
  return toMeasuredResult(check, {
    used: isBlocked ? limit : 0,
    resetAfterMs: leftMs,
    retryAfterMs,
    isBlocked,
  });
}

/** How many counters hold only what their check has just charged. */
function createdBy(checks: readonly Check[], results: readonly CheckResult[]): number {
  const passes = results.every(({ allowed }) => allowed);
  let created = 0;
  results.forEach(({ used, cost }, i) => {
    const isCharged = passes || checks[i]?.countDenied === true;
    if (isCharged && cost > 0 && used === cost) created++;
  });
  return created;
}

function resolve(request: PendingRequest, results: CheckResult[], ends: readonly number[]): void {
  if (request.onTokens !== undefined) {
    // without an end there is nothing to refund
    const tokens = request.counters.map(({ keyIndex }) => {
      const end = ends[keyIndex - 1] ?? 0;
      return end === 0 ? NO_TOKEN : end;
    });
    request.onTokens(tokens, results);
  }
  request.resolve(results);
}
