import { capacityOf, leaseOf } from '../../core/counter-kind.js';
import { type Check, type CheckResult, isPlain } from '../../core/check.js';
import type { MaybePromise } from '../../core/maybe-promise.js';
import type { OutcomeHooks } from '../../core/store.js';
import { CounterMap, type CounterName } from '../../core/counter-map.js';

/**
 * The maximum number of counters in one call. If all requests pass, 128 block the server for 0.1 to 0.2 ms, and several calls
 * are in flight under load.
 */
export const MAX_KEYS = 128;
/**
 * The maximum number of checks in one call, for any number of counters: if one of them denies, the script handles all of
 * them, in 0.6 µs each. The longest such call blocks the server for about 0.3 ms. A single request with more is still one call.
 */
export const MAX_CHECKS = 256;

/** Instead of a token: there is nothing to refund. */
export const NO_TOKEN = -1;

/** Called with the token of each result, by which its charge can be refunded. */
export type OnTokens = (tokens: readonly number[], results: readonly CheckResult[]) => void;

/** A request that waits for its results. */
export class PendingRequest {
  /** The counter of each check, once the request is in a batch. */
  counters: readonly CounterEntry[] = [];
  /** Whether it needs the script for all kinds of counters. */
  readonly isMixed: boolean;
  private settle!: (results: MaybePromise<CheckResult[]>) => void;
  private fail!: (error: unknown) => void;
  readonly promise = new Promise<CheckResult[]>((settle, fail) => {
    this.settle = settle;
    this.fail = fail;
  });

  constructor(
    readonly checks: readonly Check[],
    /** Whether its checks are charged; else they are only peeked at. */
    readonly charging: boolean,
    readonly onTokens?: OnTokens,
    private readonly hooks?: OutcomeHooks,
  ) {
    this.isMixed = !checks.every(isPlain);
  }

  resolve(results: CheckResult[]): void {
    this.hooks?.onResults?.(results);
    this.settle(results);
  }

  reject(error: unknown): void {
    const onError = this.hooks?.onError;
    if (onError === undefined) this.fail(error);
    else this.settle(onError(error));
  }
}

/** A counter of a call, with what all checks on it amount to. */
export interface CounterEntry extends CounterName {
  readonly key: string;
  /** The first check on it. */
  readonly check: Check;
  readonly windowMs: number;
  /** The lowest limit of its checks, or burst of a token bucket. */
  limit: number;
  /** The sum of their costs. */
  cost: number;
  /** The leases that they take, in the order of arrival. */
  leases: readonly string[];
  /** Its index among KEYS, from 1; 0 until the call is encoded. */
  keyIndex: number;
  /** Units used before the check that is read next; set when the reply is read. */
  used: number;
  leftMs: number;
}

const NO_LEASES: readonly string[] = [];

/** Up to this many counters, it takes less time to compare each than to look one up. */
const MAX_COMPARED = 8;

/** The requests of one call of lua/consume.lua or lua/consume-mixed.lua. */
export class Batch {
  requests: PendingRequest[] = [];
  /** Each counter once, in the order of arrival. */
  counters: CounterEntry[] = [];
  /** The number of checks of all its requests. */
  checkCount = 0;
  /** Whether a request needs tokens. */
  wantsTokens = false;
  /** Whether it changes any counter. */
  changesCounters = false;
  private totalCost = 0;
  /** The counters, if there are too many to compare each. */
  private byName: CounterMap<CounterEntry> | undefined;

  /** A batch of one request. */
  static of(request: PendingRequest): Batch {
    const batch = new Batch();
    batch.add(request);
    return batch;
  }

  /** Whether it needs the script for all kinds of counters. */
  get isMixed(): boolean {
    return this.requests[0]?.isMixed === true;
  }

  /** The number of its requests. */
  get size(): number {
    return this.requests.length;
  }

  /** Whether it has several counters, and so could be sent as several calls. */
  get isDivisible(): boolean {
    return this.counters.length > 1;
  }

  /** The key of one of its counters. */
  get someKey(): string {
    return this.counters[0]?.key ?? '';
  }

  /** Whether a request may share this call; the first one always may. */
  fits(checks: readonly Check[]): boolean {
    return (
      this.checkCount === 0 ||
      (this.counters.length + checks.length <= MAX_KEYS &&
        this.checkCount + checks.length <= MAX_CHECKS &&
        this.totalCost + costOf(checks) <= Number.MAX_SAFE_INTEGER &&
        (!this.isMixed || checks.every((check) => this.isLikeItsCounter(check))))
    );
  }

  add(request: PendingRequest): void {
    const { checks, charging } = request;
    request.counters = checks.map((check) => this.addCheck(check, charging));
    // a push to an empty array takes room for 17 entries, and most batches have one request
    if (this.checkCount === 0) this.requests = [request];
    else this.requests.push(request);
    this.wantsTokens ||= request.onTokens !== undefined;
    this.checkCount += checks.length;
    this.totalCost += costOf(checks);
  }

  fail(error: unknown): void {
    for (const request of this.requests) request.reject(error);
  }

  /** A call has the block of a counter once, and what flows into a bucket: other requests may have others, by a function. */
  private isLikeItsCounter(check: Check): boolean {
    const first = this.find(check)?.check;
    if (first === undefined) return true;
    return first.block === check.block && (check.kind.type !== 'token-bucket' || first.limit === check.limit);
  }

  private addCheck(check: Check, charging: boolean): CounterEntry {
    const cost = charging ? check.cost : 0;
    this.changesCounters ||= cost > 0;
    // a peek never denies: its result is computed from the counter
    const limit = charging ? capacityOf(check) : Infinity;
    const counter = this.find(check) ?? this.addCounter(check, limit);
    counter.cost += cost;
    if (limit < counter.limit) counter.limit = limit;
    if (cost > 0 && check.kind.type === 'concurrency') counter.leases = [...counter.leases, leaseOf(check)];
    return counter;
  }

  private find(check: Check): CounterEntry | undefined {
    if (this.byName !== undefined) return this.byName.get(check);
    const { group, text, windowMs, kind } = check;
    const isCalendar = kind.type === 'calendar';
    for (const counter of this.counters) {
      // Numbers first: groups of one handler are long texts that differ near their end. The periods of a calendar are not of
      // one length, and the next one may have begun between two requests.
      if (counter.windowMs !== windowMs && !isCalendar) continue;
      if (counter.text === text && counter.group === group) return counter;
    }
    return undefined;
  }

  private addCounter(check: Check, limit: number): CounterEntry {
    const { key, group, text, windowMs } = check;
    const counter: CounterEntry = {
      key,
      check,
      group,
      text,
      windowMs,
      limit,
      cost: 0,
      leases: NO_LEASES,
      keyIndex: 0,
      used: 0,
      leftMs: 0,
    };
    this.counters.push(counter);
    if (this.byName !== undefined) this.byName.set(counter, counter);
    else if (this.counters.length > MAX_COMPARED) this.byName = mapOf(this.counters);
    return counter;
  }
}

function mapOf(counters: readonly CounterEntry[]): CounterMap<CounterEntry> {
  const byName = new CounterMap<CounterEntry>();
  for (const counter of counters) byName.set(counter, counter);
  return byName;
}

function costOf(checks: readonly Check[]): number {
  let sum = 0;
  for (const { cost } of checks) sum += cost;
  return sum;
}
