import timers from 'node:timers';
import type { Check, CheckResult } from '../../core/check.js';
import { FreqLimitError, formatError } from '../../core/errors.js';
import { LimitedLog } from '../../core/limited-log.js';
import { consumeInGroups, type GroupStore, groupChecks } from '../../core/split-request.js';
import type { Store, StoreHealth, StoreLog } from '../../core/store.js';
import type { Breaker } from './breaker.js';
import { Coalescer } from './coalescer.js';
import { type Call, Sender } from './sender.js';
import { Deadline } from './deadline.js';
import { isAboutKey, isFull, isMoving, kindOf, NotReadyError, toFailure } from './errors.js';
import { FullServers } from './full-servers.js';
import { consumeLua, refundLua } from './lua.generated.js';
import { ServerHealth } from './server-health.js';
import type { HashTags } from './hash-tags.js';
import type { RedisClient, RedisOption } from './redis-option.js';
import { Batch, encodeRefunds, type Refund, type PendingRequest } from './redis-codec.js';
import { type Connection, connectionFor } from './connection.js';
import { Refunds } from './refunds.js';
import { Script } from './script.js';
import { Servers, THE_SERVER } from './servers.js';

// the module's own, and taken once, so that a test's fake timers do not keep requests waiting
const { setImmediate } = timers;

const CONSUME = new Script(consumeLua);
/** For a server that is full: counters are small and end by themselves, so they are let in all the same (Redis ≥ 7). */
const CONSUME_WHEN_FULL = new Script(`#!lua flags=allow-oom\n${consumeLua}`);
const REFUND = new Script(refundLua);

const SILENT_MS = 10_000;
const MOVING_MS = 1_000;
const MAX_MOVING = 1_000;
/** When the counter of a probe expires. */
const PROBE_MS = 1_000;
/** Servers close connections that are idle for whole seconds. */
const IDLE_MS = 1_000;

export interface RedisStoreOptions {
  readonly redis: RedisOption;
  readonly timeoutMs: number;
  /** Head of all counters' keys. */
  readonly namespace: string;
  /** Whether the checks of several requests may share a call. */
  readonly coalesce: boolean;
  /** Where counters lie in a Cluster; none elsewhere. */
  readonly placement: HashTags | undefined;
}

/**
 * Counts in Redis: one script call for all the checks of a request, and under load for those of many requests.
 *
 * No wait is longer than `timeoutMs`, nothing is queued for a server that is away, and nothing is asked a second time
 * that may have been counted. In a Cluster the checks of one request have one hash tag.
 */
export class RedisStore implements Store {
  private readonly coalescer: Coalescer;
  private readonly serverHealth: ServerHealth;
  /** Hash tags whose slot is on its way from one server to another, and until when that is believed. */
  private readonly movingUntilMs = new Map<string, number>();
  /** One line of each kind in ten seconds. */
  private readonly lines = new LimitedLog(
    { warn: ignore, error: (_, message) => this.log.error(message) },
    SILENT_MS,
  );
  private readonly full = new FullServers();
  private connection!: Connection;
  private caller!: Sender;
  private refunds!: Refunds;
  private servers!: Servers;
  private sentAtMs = -Infinity;
  private opening: Promise<void> | undefined;
  /** The last call that was sent has failed: that a connection is made says nothing of calls. */
  private hasFailed = false;
  private isOpen = false;

  private constructor(
    private readonly options: RedisStoreOptions,
    private readonly log: StoreLog,
  ) {
    this.coalescer = new Coalescer((batches) => {
      this.sendAll(batches);
    }, options.coalesce);
    this.serverHealth = new ServerHealth(log, (server) => this.servers.has(server));
  }

  static async create(options: RedisStoreOptions, log: StoreLog): Promise<RedisStore> {
    const store = new RedisStore(options, log);
    store.connection = await connectionFor(options.redis, options.timeoutMs, log, {
      onLost: (reason) => {
        store.serverHealth.breakerOf(THE_SERVER).open(reason);
      },
      onRefused: (reason) => {
        store.serverHealth.refuse(store.serverHealth.breakerOf(THE_SERVER), reason);
      },
      onReady: () => {
        store.serverHealth.allowProbe();
        // in a Cluster the servers speak for themselves
        if (store.hasFailed && !store.client.isCluster) return;
        store.serverHealth.breakerOf(THE_SERVER).succeed();
        store.serverHealth.noteReturn(store.serverHealth.breakerOf(THE_SERVER));
      },
    });
    store.caller = new Sender(store.connection);
    store.servers = new Servers(store.client);
    store.refunds = new Refunds({
      timeoutMs: options.timeoutMs,
      call: (refunds, key) => store.callRefunds(refunds, key),
      onFailure: (error) => store.told(error),
    });
    return store;
  }

  consume(checks: readonly Check[], refundable = false, queuedAtMs?: number): Promise<CheckResult[]> {
    return this.ask(checks, true, refundable, queuedAtMs);
  }

  peek(checks: readonly Check[]): Promise<CheckResult[]> {
    return this.ask(checks, false, false);
  }

  refund(
    checks: readonly Check[],
    results: readonly CheckResult[],
    isInTime = false,
  ): Promise<CheckResult[]> {
    return this.refunds.refund(this.withHashTags(checks), results, isInTime);
  }

  async reset(checks: readonly Check[]): Promise<void> {
    const [first, ...others] = this.withHashTags(checks).map(({ key }) => key);
    if (first === undefined) return;
    const keys: [string, ...string[]] = [first, ...others];
    const deadline = new Deadline(this.options.timeoutMs);
    try {
      await deadline.wait(this.open());
      const calls = this.client.isCluster
        ? keys.map((key) => this.forget([key], deadline))
        : [this.forget(keys, deadline)];
      await Promise.all(calls);
    } catch (error) {
      throw toFailure(error);
    }
  }

  private forget(keys: [string, ...string[]], deadline: Deadline): Promise<unknown> {
    const server = this.servers.of(keys[0]);
    return this.caller.run({ server, requests: 1, deadline }, (client) => client.del(...keys));
  }

  health(): StoreHealth {
    for (const server of this.serverHealth.openServers()) this.probe(server);
    return this.full.seenIn(this.serverHealth.health());
  }

  async open(): Promise<void> {
    this.opening ??= this.connection.open();
    await this.opening;
    this.isOpen = true;
  }

  close(): Promise<void> {
    // what has gathered leaves at once, before the connection is closed
    this.sentAtMs = Infinity;
    this.coalescer.flush();
    return this.connection.close();
  }

  private get client(): RedisClient {
    return this.connection.client;
  }

  /** The checks with the keys that the server has them under. */
  private withHashTags(checks: readonly Check[]): readonly Check[] {
    const { placement } = this.options;
    if (placement === undefined) return checks;
    return checks.map((check) => ({ ...check, key: placement.keyOf(check) }));
  }

  private ask(
    checks: readonly Check[],
    charging: boolean,
    refundable: boolean,
    queuedAtMs?: number,
  ): Promise<CheckResult[]> {
    const placed = this.withHashTags(checks);
    const [first] = placed;
    if (first === undefined) return Promise.resolve([]);
    const server = this.servers.of(first.key);
    if (this.serverHealth.breakerOf(server).isOpen && !this.mayTry(server, charging, placed)) {
      this.serverHealth.remind();
      return Promise.reject(this.refusal());
    }
    const deadline =
      queuedAtMs === undefined ? undefined : Deadline.since(queuedAtMs, this.options.timeoutMs);
    const onEnds = refundable ? this.refunds.noteCharges(placed, deadline) : undefined;
    const request = { checks: placed, charging, onEnds };
    if (deadline !== undefined) return this.askAlone(request, deadline);
    // what has one hash tag may travel together
    return this.coalescer.ask(tagIn(first.key), request);
  }

  /** For a request that has waited already: it has less time than others, so it gets its own call. */
  private askAlone(
    request: Omit<PendingRequest, 'resolve' | 'reject'>,
    deadline: Deadline,
  ): Promise<CheckResult[]> {
    return new Promise((resolve, reject) => {
      const batch = new Batch();
      batch.add({ ...request, resolve, reject });
      void this.send(batch, deadline);
    });
  }

  /**
   * Whether a request may try a server whose breaker is open. Only a charge may: a server that answers a peek may still
   * deny charges. For a peek, a probe charges a counter of our own.
   */
  private mayTry(server: string, charging: boolean, checks: readonly Check[]): boolean {
    if (charging && checks.some(({ cost }) => cost > 0)) return this.serverHealth.breakerOf(server).admits();
    this.probe(server);
    return false;
  }

  /**
   * Sends the calls of one turn. The server may have closed a connection that was idle, while this process stood still in
   * this very turn: the sockets are read before such a connection is used.
   */
  private sendAll(batches: readonly Batch[]): void {
    const nowMs = performance.now();
    const wasIdle = nowMs - this.sentAtMs >= IDLE_MS;
    this.sentAtMs = nowMs;
    if (wasIdle)
      setImmediate(() => {
        this.writeAll(batches);
      });
    else this.writeAll(batches);
  }

  /** Several calls leave by one write: a write costs more than its content, for this process and for the server. */
  private writeAll(batches: readonly Batch[]): void {
    const stream = batches.length > 1 ? this.client.stream : undefined;
    stream?.cork();
    for (const batch of batches) void this.send(batch);
    stream?.uncork();
  }

  private async send(batch: Batch, deadline = new Deadline(this.options.timeoutMs)): Promise<void> {
    if (batch.isDivisible && this.isMoving(batch)) {
      this.divide(batch, deadline);
      return;
    }
    const server = this.servers.of(batch.someKey);
    const breaker = this.serverHealth.breakerOf(server);
    try {
      if (!this.isOpen) await deadline.wait(this.open());
      this.answer(batch, await this.call(batch, server, deadline), breaker);
      this.full.letIn(server, batch.opened);
      this.serverHealth.tidy();
    } catch (error) {
      if (isMoving(error) && batch.isDivisible) {
        if (this.movingUntilMs.size >= MAX_MOVING) this.movingUntilMs.clear();
        this.movingUntilMs.set(tagIn(batch.someKey), performance.now() + MOVING_MS);
        this.divide(batch, deadline);
        return;
      }
      batch.fail(this.noteFailure(error, breaker));
    }
  }

  private answer(batch: Batch, reply: unknown, breaker: Breaker): void {
    let refusal: Error | undefined;
    batch.answer(reply, (error) => {
      if (isAboutKey(error)) return this.told(error);
      refusal = error;
      return toFailure(error);
    });
    if (refusal !== undefined) {
      this.hasFailed = true;
      breaker.fail(toFailure(refusal).message, 'permanent');
      return;
    }
    // a peek that was in flight when a charge was denied does not show that charges work
    if (breaker.isOpen && !batch.isCharging) return;
    this.hasFailed = false;
    breaker.succeed();
    this.serverHealth.noteReturn(breaker);
  }

  private noteFailure(error: unknown, breaker: Breaker): FreqLimitError {
    const failure = toFailure(error);
    const kind = kindOf(error);
    this.hasFailed ||= !(error instanceof NotReadyError);
    if (kind === 'disconnected') this.serverHealth.noteLoss(breaker, failure.message);
    breaker.fail(failure.message, kind);
    return failure;
  }

  /** Charges a counter of our own on a server with an open breaker, when its pause is over, to find out whether it is back. */
  private probe(server: string): void {
    if (!this.serverHealth.breakerOf(server).admits()) return;
    const key = this.servers.keyOn(server, (tag) => `${this.options.namespace}:{${tag}}:probe:${PROBE_MS}:`);
    if (key === undefined) return;
    const batch = new Batch();
    batch.add({
      checks: [probeCheck(key)],
      charging: true,
      onEnds: undefined,
      resolve: ignore,
      reject: ignore,
    });
    void this.send(batch);
  }

  /** Calls the script. If the server is full, calls it once more with the flag for that, for a limited number of counters. */
  private async call(batch: Batch, server: string, deadline: Deadline): Promise<unknown> {
    const call = { ...batch.encode(), server, requests: batch.size, deadline };
    try {
      const reply = await this.caller.call(CONSUME, call);
      if (batch.isCharging) this.full.hasRoom(server);
      return reply;
    } catch (error) {
      // refused at the first write, so nothing is counted
      if (!isFull(error) || !this.full.admits(server)) throw error;
      return this.callFull(call, error);
    }
  }

  private async callFull(call: Call, error: unknown): Promise<unknown> {
    try {
      const reply = await this.caller.call(CONSUME_WHEN_FULL, call);
      this.full.isFull(call.server);
      this.tell(toFailure(error).message);
      return reply;
    } catch (second) {
      // servers before Redis 7 do not know the flag
      throw formatError(second).includes('compiling') ? error : second;
    }
  }

  /** Whether a call of several keys has just failed for its slot's moving. To find that out anew takes its time. */
  private isMoving(batch: Batch): boolean {
    if (this.movingUntilMs.size === 0) return false;
    return performance.now() < (this.movingUntilMs.get(tagIn(batch.someKey)) ?? 0);
  }

  /** While a slot moves, only calls of one key find their way. TRYAGAIN has run nothing. */
  private divide({ requests }: Batch, deadline: Deadline): void {
    for (const request of requests) void this.sendInParts(request, deadline);
  }

  private async sendInParts(request: PendingRequest, deadline: Deadline): Promise<void> {
    const { checks, charging } = request;
    const store: GroupStore = {
      consume: (part) => {
        const onEnds = charging ? this.refunds.noteCharges(part, deadline) : undefined;
        return this.askAlone({ checks: part, charging, onEnds }, deadline);
      },
      refund: (part, results) => this.refunds.refund(part, results, true),
    };
    try {
      request.resolve(
        await consumeInGroups(
          groupChecks(checks, ({ key }) => key),
          store,
        ),
      );
    } catch (error) {
      request.reject(error);
    }
  }

  private async callRefunds(refunds: readonly Refund[], key: string): Promise<unknown> {
    const server = this.servers.of(key);
    if (this.serverHealth.breakerOf(server).isOpen) throw this.refusal();
    const deadline = new Deadline(this.options.timeoutMs);
    return this.caller.call(REFUND, { ...encodeRefunds(refunds), server, requests: 1, deadline });
  }

  private refusal(): FreqLimitError {
    return new FreqLimitError('FREQ_LIMIT_STORE_FAILED', this.serverHealth.reason ?? 'Redis gave no answer');
  }

  /** One kind of error for whatever went wrong, which the operator hears of too. */
  private told(error: unknown): FreqLimitError {
    const failure = toFailure(error);
    this.tell(failure.message);
    return failure;
  }

  private tell(message: string): void {
    this.lines.error('FREQ_LIMIT_STORE_ERROR', message, () => message);
  }
}

/** A key up to its hash tag, of which nothing is a caller's; `''` where it has none. */
function tagIn(key: string): string {
  return key.slice(0, key.indexOf('}') + 1);
}

function probeCheck(key: string): Check {
  const limits = { windowMs: PROBE_MS, limit: Infinity, cost: 1, countDenied: false } as const;
  return { key, group: key, name: 'probe', ...limits, onStoreError: 'allow' };
}

function ignore(): void {
  // the breaker gets the result of a probe
}
