import { capacityOf, type CounterKind } from '../../core/counter-kind.js';
import { type Check, type CheckResult, passesAll, toMeasuredResult } from '../../core/check.js';
import type { Batch, CounterEntry, PendingRequest } from './batch.js';
import { bucketOf, isBucket, partsPerUnit } from './bucket-parts.js';
import { unpackArray } from './message-pack.js';
import { toInteger, UnexpectedReplyError } from './reply-values.js';

// The only place that knows the positions of the arguments and the reply of lua/consume-mixed.lua.

const KINDS = { 'fixed-window': 1, calendar: 2, 'sliding-window': 3, 'token-bucket': 4, concurrency: 5 };
const WITH_BLOCK = 10;
const NO_LIMIT = -1;
/** Instead of the cost of a run: the requests must be decided one by one. */
export const ONE_BY_ONE = -1;
const ALL_PASS = 0;
const EACH = 1;
const WANTS_TOKENS = '@';
/** What a check is besides its numbers: a peek, a settlement, or a sum of the others. */
export const MODES = { countDenied: 1, shadow: 2, peek: 4, settle: 8 };

type Value = number | string | undefined;
type Values = readonly (number | string)[];

/** KEYS and ARGV of the call. Counters that are alike are a run of KEYS. Call it once for a batch. */
export function encodeMixed(batch: Batch): { readonly keys: string[]; readonly args: string[] } {
  const { requests, counters } = batch;
  const isOneByOne = requests.some(needsOwnAnswers);
  const keys: string[] = [];
  const runs: (number | string)[] = [];
  for (const first of counters) {
    if (first.keyIndex !== 0) continue;
    const alike = counters.filter((one) => one.keyIndex === 0 && isAlike(first, one));
    for (const one of alike) one.keyIndex = keys.push(one.key);
    const sum = isOneByOne || first.cost > Number.MAX_SAFE_INTEGER ? ONE_BY_ONE : first.cost;
    runs.push(...runOf(first.check, first.limit, sum, alike));
  }
  return { keys, args: [JSON.stringify([requestsText(batch), ...runs])] };
}

/**
 * Whether the results of a request cannot be computed from the state of the counters after the call: those of a peek, and of a
 * check that only reads a sliding window, whose end moves with each charge.
 */
function needsOwnAnswers({ checks, counters, charging }: PendingRequest): boolean {
  if (!charging) return true;
  return checks.some(
    ({ cost, kind }, i) => cost === 0 && kind.type === 'sliding-window' && (counters[i]?.cost ?? 0) > 0,
  );
}

function isAlike(a: CounterEntry, b: CounterEntry): boolean {
  if (a.windowMs !== b.windowMs || a.limit !== b.limit || a.cost !== b.cost) return false;
  if (a.leases.length !== b.leases.length) return false;
  const [one, other] = [a.check, b.check];
  return one.block === other.block && one.limit === other.limit && isSameKind(one.kind, other.kind);
}

/** Rules share the objects of their kinds, and checks of `FreqLimitService` do not. */
function isSameKind(a: CounterKind, b: CounterKind): boolean {
  return a === b || (a.type === 'token-bucket' && b.type === 'token-bucket' && a.burst === b.burst);
}

/**
 * What counters have in common, and the leases of each.
 * @param counters as many leases each
 */
export function runOf(
  check: Check,
  limit: number,
  cost: number,
  counters: readonly Pick<CounterEntry, 'leases'>[],
): Values {
  const { kind, block, windowMs } = check;
  const code = KINDS[kind.type] + (block === undefined ? 0 : WITH_BLOCK);
  const more = [...kindParts(check, counters), ...blockParts(check)];
  return [code, windowMs, sentLimit(limit), cost, counters.length, more.length, ...more];
}

function kindParts({ kind, limit }: Check, counters: readonly Pick<CounterEntry, 'leases'>[]): Values {
  switch (kind.type) {
    case 'calendar':
      return [kind.startsAtMs, kind.endsAtMs, kind.nextEndsAtMs];
    case 'token-bucket':
      return [Math.min(limit, Number.MAX_SAFE_INTEGER), sentLimit(kind.burst)];
    case 'concurrency':
      return [counters[0]?.leases.length ?? 0, ...counters.flatMap(({ leases }) => leases)];
    default:
      return [];
  }
}

function blockParts({ block }: Check): number[] {
  return block === undefined ? [] : [block.forgiveAfterMs, block.stepsMs.length, ...block.stepsMs];
}

/** The requests as the script reads them if not all of them pass. */
function requestsText({ requests, wantsTokens }: Batch): string {
  let text = wantsTokens ? WANTS_TOKENS : '';
  for (const request of requests) {
    request.checks.forEach((check, i) => (text += checkText(check, request.counters[i], request.charging)));
    text += '0,';
  }
  return text;
}

function checkText(check: Check, counter: CounterEntry | undefined, charging: boolean): string {
  if (counter === undefined) throw new UnexpectedReplyError();
  const limit = capacityOf(check);
  const mode = charging ? modeOf(check) : MODES.peek;
  if (check.cost === 1 && limit === counter.limit && mode === 0) return `${counter.keyIndex},`;
  return `-${counter.keyIndex},${sentLimit(limit)},${check.cost},${mode},`;
}

function modeOf({ countDenied, shadow }: Check): number {
  return (countDenied ? MODES.countDenied : 0) + (shadow ? MODES.shadow : 0);
}

function sentLimit(limit: number): number {
  return limit === Infinity ? NO_LIMIT : limit;
}

/**
 * Gives each request of a batch its results from the reply of the call.
 * @param toError makes the error of a request from an error of the server, such as for a key that does not hold a counter
 * @returns how many counters the call has created
 * @throws {TypeError} if the reply is not from this script
 */
export function readMixed(batch: Batch, reply: unknown, toError: (error: string) => Error): number {
  const values = unpackArray(reply);
  const { counters, checkCount, wantsTokens } = batch;
  const [size, count] = values[0] === ALL_PASS ? [2, counters.length] : [3, checkCount];
  if (values[0] !== ALL_PASS && values[0] !== EACH) throw new UnexpectedReplyError();
  if (values.length !== 1 + (wantsTokens ? size + 1 : size) * count) throw new UnexpectedReplyError();
  const tokens = values.slice(1 + size * count);
  return values[0] === ALL_PASS ? readAll(batch, values, tokens) : readEach(batch, values, tokens, toError);
}

/** All requests pass: from the final state of a counter, the result of each check is computed in the order of arrival. */
function readAll(batch: Batch, values: Values, tokens: Values): number {
  let created = 0;
  for (const counter of batch.counters) {
    counter.used = toInteger(values[2 * counter.keyIndex - 1]) - counter.cost * partsPerUnit(counter);
    counter.leftMs = toInteger(values[2 * counter.keyIndex]);
    if (counter.used === 0 && counter.cost > 0) created++;
  }
  for (const request of batch.requests) {
    const { checks, counters } = request;
    const results = checks.map((check, i) => nextResult(check, counters[i]));
    const own = counters.map(({ keyIndex }) => toInteger(tokens[keyIndex - 1] ?? 0));
    resolve(request, results, own);
  }
  return created;
}

/** The result of the next check on a counter. */
function nextResult(check: Check, counter: CounterEntry | undefined): CheckResult {
  if (counter === undefined) throw new UnexpectedReplyError();
  counter.used += check.cost * partsPerUnit(counter);
  const { used, leftMs } = counter;
  const measured = isBucket(counter) ? bucketOf(counter) : { used, resetAfterMs: used === 0 ? 0 : leftMs };
  return toMeasuredResult(check, { ...measured, retryAfterMs: 0, isBlocked: false });
}

/** Some request does not pass: the reply has the numbers of each check. */
function readEach(batch: Batch, values: Values, tokens: Values, toError: (error: string) => Error): number {
  let created = 0;
  let next = 0;
  for (const request of batch.requests) {
    const { checks, charging } = request;
    const from = next;
    next += checks.length;
    const error = values[1 + 3 * from];
    if (typeof error === 'string') {
      request.reject(toError(error));
      continue;
    }
    const results = checks.map((check, i) => readResult(check, values.slice(1 + 3 * (from + i))));
    if (charging) created += createdBy(checks, results);
    resolve(request, results, tokens.slice(from, next).map(toInteger));
  }
  return created;
}

function readResult(check: Check, [used, reset, retry]: readonly Value[]): CheckResult {
  const retryMs = toInteger(retry);
  return toMeasuredResult(check, {
    used: toInteger(used),
    resetAfterMs: toInteger(reset),
    retryAfterMs: Math.abs(retryMs),
    isBlocked: retryMs < 0,
  });
}

/** How many counters hold only what their check has just charged. */
function createdBy(checks: readonly Check[], results: readonly CheckResult[]): number {
  const passes = passesAll(checks, results);
  let created = 0;
  results.forEach(({ used, cost }, i) => {
    if ((passes || checks[i]?.countDenied === true) && cost > 0 && used === cost) created++;
  });
  return created;
}

function resolve(request: PendingRequest, results: CheckResult[], tokens: readonly number[]): void {
  request.onTokens?.(tokens, results);
  request.resolve(results);
}
