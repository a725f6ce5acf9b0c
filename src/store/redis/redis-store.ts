import calculateSlot from 'cluster-key-slot';
import type { Check, CheckResult } from '../../core/check.js';
import { type FreqLimitError, showError } from '../../core/errors.js';
import { consumeInParts, type PartStore, partsOf } from '../parts.js';
import type { Store, StoreHealth, StoreLog } from '../store.js';
import type { Breaker } from './breaker.js';
import { Coalescer } from './coalescer.js';
import { withDeadline } from './deadline.js';
import { isFull, isMoving, isRefusal, kindOf, NotReadyError, toFailure } from './failures.js';
import { consumeLua, refundLua } from './lua.generated.js';
import { Outage } from './outage.js';
import type { Placement } from './placement.js';
import type { RedisClient, RedisOption } from './redis-client.js';
import { Batch, encodeRefunds, readRefunds, type Refund, type Request } from './redis-codec.js';
import { type Connection, connectionFor, isReady } from './redis-connection.js';
import { Script } from './script.js';

const CONSUME = new Script(consumeLua);
/** For a server that is full: counters are small and end by themselves, so they are let in all the same (Redis ≥ 7). */
const CONSUME_WHEN_FULL = new Script(`#!lua flags=allow-oom\n${consumeLua}`);
const REFUND = new Script(refundLua);

const SILENT_MS = 10_000;
const MOVING_MS = 1_000;
const MOST_MOVING = 1_000;
const MOST_TROUBLES = 20;
/** The server of all keys where there is one, and of the connection as a whole. */
const THE_SERVER = '';
/** Of a slot that no server has. */
const NOBODY = 'nobody';
const SLOTS = 16_384;

export interface RedisStoreOptions {
  readonly redis: RedisOption;
  readonly timeoutMs: number;
  /** Whether the checks of several requests may share a call. */
  readonly coalesce: boolean;
  /** Where counters lie in a Cluster; none elsewhere. */
  readonly placement: Placement | undefined;
}

/** What was charged for an answer, and may be given back. */
interface Charge {
  /** The server's clock at the end of the window that was charged. */
  readonly endsAtMs: number;
  /** When it was asked, by the process's own clock. */
  readonly sinceMs: number;
}

/**
 * Counts in Redis: one script call for all the checks of a request, and under load for those of many requests.
 *
 * No wait is longer than `timeoutMs`, nothing is queued for a server that is away, and nothing is asked a second time
 * that may have been counted. In a Cluster the checks of one request have one hash tag.
 */
export class RedisStore implements Store {
  private readonly coalescer: Coalescer;
  private readonly outage: Outage;
  private readonly charges = new WeakMap<CheckResult, Charge>();
  /** Hash tags whose slot is on its way from one server to another, and until when that is believed. */
  private readonly movingUntilMs = new Map<string, number>();
  private readonly silentUntilMs = new Map<string, number>();
  private connection!: Connection;
  private opening: Promise<void> | undefined;
  /** The server's last word was a refusal: that a connection to it is made says nothing of that. */
  private isRefused = false;
  private isOpen = false;

  private constructor(
    private readonly options: RedisStoreOptions,
    private readonly log: StoreLog,
  ) {
    this.coalescer = new Coalescer((batches) => {
      this.sendAll(batches);
    }, options.coalesce);
    this.outage = new Outage(log, (server) => this.isOurs(server));
  }

  static async create(options: RedisStoreOptions, log: StoreLog): Promise<RedisStore> {
    const store = new RedisStore(options, log);
    store.connection = await connectionFor(options.redis, options.timeoutMs, log, {
      onLost: (reason) => {
        store.outage.breakerOf(THE_SERVER).open(reason);
      },
      onReady: () => {
        store.outage.hope();
        // in a Cluster the servers speak for themselves
        if (!store.isRefused || store.client.isCluster) store.outage.breakerOf(THE_SERVER).succeed();
      },
    });
    return store;
  }

  consume(checks: readonly Check[], refundable = false, sinceMs?: number): Promise<CheckResult[]> {
    return this.ask(checks, true, refundable, sinceMs);
  }

  peek(checks: readonly Check[]): Promise<CheckResult[]> {
    return this.ask(checks, false, false);
  }

  refund(
    checks: readonly Check[],
    results: readonly CheckResult[],
    isInTime = false,
  ): Promise<CheckResult[]> {
    return this.giveBack(this.placed(checks), results, isInTime);
  }

  async reset(checks: readonly Check[]): Promise<void> {
    const keys = this.placed(checks).map(({ key }) => key);
    if (keys.length === 0) return;
    try {
      await this.open();
      if (!isReady(this.client)) throw new NotReadyError(this.client.status);
      const calls = this.client.isCluster
        ? keys.map((key) => this.client.del(key))
        : [this.client.del(...keys)];
      await withDeadline(Promise.all(calls), this.options.timeoutMs);
    } catch (error) {
      throw toFailure(error);
    }
  }

  health(): StoreHealth {
    return this.outage.health();
  }

  async open(): Promise<void> {
    this.opening ??= this.connection.open();
    await this.opening;
    this.isOpen = true;
  }

  close(): Promise<void> {
    this.coalescer.flush();
    return this.connection.close();
  }

  private get client(): RedisClient {
    return this.connection.client;
  }

  /** The checks with the keys that the server has them under. */
  private placed(checks: readonly Check[]): readonly Check[] {
    const { placement } = this.options;
    if (placement === undefined) return checks;
    return checks.map((check) => ({ ...check, key: placement.keyOf(check) }));
  }

  private ask(
    checks: readonly Check[],
    charging: boolean,
    refundable: boolean,
    sinceMs?: number,
  ): Promise<CheckResult[]> {
    const placed = this.placed(checks);
    const [first] = placed;
    if (first === undefined) return Promise.resolve([]);
    if (!this.breakerOf(first.key).admits()) return Promise.reject(this.refusal());
    const onEnds = refundable ? this.chargesOf(placed, sinceMs) : undefined;
    const request = { checks: placed, charging, onEnds };
    if (sinceMs !== undefined) return this.askAlone(request, sinceMs);
    // what has one hash tag may travel together
    return this.coalescer.ask(tagIn(first.key), request);
  }

  /** For a request that has waited already: its time is not that of others. */
  private askAlone(request: Omit<Request, 'resolve' | 'reject'>, sinceMs: number): Promise<CheckResult[]> {
    return new Promise((resolve, reject) => {
      const batch = new Batch(sinceMs);
      batch.add({ ...request, resolve, reject });
      void this.send(batch);
    });
  }

  /** Notes which windows were charged, so that it can be given back. Of a denied request only what counts in any case. */
  private chargesOf(checks: readonly Check[], sinceMs = performance.now()): NonNullable<Request['onEnds']> {
    return (endsAtMs, results) => {
      const passes = results.every(({ allowed }) => allowed);
      results.forEach((result, i) => {
        const { cost = 0, countDenied = false } = checks[i] ?? {};
        if (cost > 0 && (passes || countDenied))
          this.charges.set(result, { endsAtMs: endsAtMs[i] ?? 0, sinceMs });
      });
    };
  }

  /** Several calls leave by one write: it is dearer than what is written, for this process and for the server. */
  private sendAll(batches: readonly Batch[]): void {
    const stream = batches.length > 1 ? this.client.stream : undefined;
    stream?.cork();
    for (const batch of batches) void this.send(batch);
    stream?.uncork();
  }

  private async send(batch: Batch): Promise<void> {
    if (batch.isDivisible && this.isMoving(batch)) {
      this.divide(batch);
      return;
    }
    const breaker = this.breakerOf(batch.someKey);
    try {
      if (!this.isOpen) await withDeadline(this.open(), this.leftMs(batch));
      batch.answer(await this.call(batch), (error) => this.told(error));
      this.outage.tidy();
      // a look tells nothing of whether the server takes a charge
      if (!batch.isCharging) return;
      this.isRefused = false;
      breaker.succeed();
    } catch (error) {
      if (isMoving(error) && batch.isDivisible) {
        if (this.movingUntilMs.size >= MOST_MOVING) this.movingUntilMs.clear();
        this.movingUntilMs.set(tagIn(batch.someKey), performance.now() + MOVING_MS);
        this.divide(batch);
        return;
      }
      const failure = toFailure(error);
      this.isRefused ||= isRefusal(error);
      breaker.fail(failure.message, kindOf(error));
      batch.fail(failure);
    }
  }

  /** Asks; where the server is full, once more in the way that is let in. */
  private async call(batch: Batch): Promise<unknown> {
    const { keys, args } = batch.encode();
    try {
      return await this.run(CONSUME, keys, args, this.leftMs(batch));
    } catch (error) {
      // refused at the first write, so nothing is counted
      if (!isFull(error)) throw error;
      return this.run(CONSUME_WHEN_FULL, keys, args, this.leftMs(batch)).then(
        (reply) => {
          this.tell(toFailure(error).message);
          return reply;
        },
        (second: unknown) => {
          // a server that is older than the flag does not know what it reads
          throw showError(second).includes('compiling') ? error : second;
        },
      );
    }
  }

  private async run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    leftMs: number,
  ): Promise<unknown> {
    const { client } = this;
    // what a client would keep for later is not asked: it could be counted long after the visit was answered
    if (!isReady(client)) throw new NotReadyError(client.status);
    return withDeadline(script.run(client, keys, args), leftMs);
  }

  private leftMs({ sinceMs }: { readonly sinceMs: number }): number {
    return Math.max(1, this.options.timeoutMs - (performance.now() - sinceMs));
  }

  /** Whether a call of several keys has just failed for its slot's moving. To find that out anew takes its time. */
  private isMoving(batch: Batch): boolean {
    if (this.movingUntilMs.size === 0) return false;
    return performance.now() < (this.movingUntilMs.get(tagIn(batch.someKey)) ?? 0);
  }

  /** While a slot moves, only calls of one key find their way. TRYAGAIN has run nothing. */
  private divide({ requests, sinceMs }: Batch): void {
    for (const request of requests) void this.sendInParts(request, sinceMs);
  }

  private async sendInParts(request: Request, sinceMs: number): Promise<void> {
    const { checks, charging } = request;
    const store: PartStore = {
      consume: (part) => {
        const onEnds = charging ? this.chargesOf(part) : undefined;
        return this.askAlone({ checks: part, charging, onEnds }, sinceMs);
      },
      refund: (part, results) => this.giveBack(part, results, true),
    };
    try {
      request.resolve(
        await consumeInParts(
          partsOf(checks, ({ key }) => key),
          store,
        ),
      );
    } catch (error) {
      request.reject(error);
    }
  }

  /**
   * Gives back within the time of a visit that still waits; after it, as when its handler has ended, in as long a time
   * anew. What takes longer goes on without the answer.
   */
  private async giveBack(
    checks: readonly Check[],
    results: readonly CheckResult[],
    isInTime: boolean,
  ): Promise<CheckResult[]> {
    const refunds: Refund[] = [];
    let sinceMs = performance.now();
    results.forEach((result, i) => {
      const [check, charge] = [checks[i], this.charges.get(result)];
      if (check === undefined || charge === undefined) return;
      this.charges.delete(result);
      refunds.push({ check, result, endsAtMs: charge.endsAtMs });
      if (isInTime) sinceMs = Math.min(sinceMs, charge.sinceMs);
    });
    const given = new Map<CheckResult, CheckResult>();
    try {
      const after = await withDeadline(this.callRefund(refunds), this.leftMs({ sinceMs }));
      refunds.forEach(({ result }, i) => given.set(result, after[i] ?? result));
    } catch (error) {
      this.told(error);
    }
    return results.map((result) => given.get(result) ?? result);
  }

  private async callRefund(refunds: readonly Refund[]): Promise<CheckResult[]> {
    const [first] = refunds;
    if (first === undefined) return [];
    if (this.breakerOf(first.check.key).isOpen) throw this.refusal();
    const { keys, args } = encodeRefunds(refunds);
    try {
      return readRefunds(refunds, await this.run(REFUND, keys, args, this.options.timeoutMs));
    } catch (error) {
      if (!isMoving(error) || refunds.length === 1) throw error;
      const single = await Promise.all(refunds.map((refund) => this.callRefund([refund])));
      return single.flat();
    }
  }

  private breakerOf(key: string): Breaker {
    return this.outage.breakerOf(this.serverOf(key));
  }

  /** The primary that a key lies on, as far as the client knows. */
  private serverOf(key: string): string {
    const { slots, options } = this.client;
    if (slots === undefined) return THE_SERVER;
    const { keyPrefix = '' } = (options ?? {}) as { readonly keyPrefix?: string };
    return slots[calculateSlot(keyPrefix + key)]?.[0] ?? NOBODY;
  }

  private isOurs(server: string): boolean {
    if (server === THE_SERVER) return true;
    const { slots = [] } = this.client;
    for (let slot = 0; slot < SLOTS; slot++) if ((slots[slot]?.[0] ?? NOBODY) === server) return true;
    return false;
  }

  private refusal(): FreqLimitError {
    return toFailure(new Error(this.outage.reason ?? 'it is not asked'));
  }

  /** One kind of error for whatever went wrong, which the operator hears of too. */
  private told(error: unknown): FreqLimitError {
    const failure = toFailure(error);
    this.tell(failure.message);
    return failure;
  }

  /** A line for the operator: one trouble is told once in a while. */
  private tell(message: string): void {
    const nowMs = performance.now();
    if (nowMs < (this.silentUntilMs.get(message) ?? 0)) return;
    if (this.silentUntilMs.size >= MOST_TROUBLES) this.silentUntilMs.clear();
    this.silentUntilMs.set(message, nowMs + SILENT_MS);
    this.log.error(message);
  }
}

/** A key up to its hash tag, of which nothing is a caller's; `''` where it has none. */
function tagIn(key: string): string {
  return key.slice(0, key.indexOf('}') + 1);
}
