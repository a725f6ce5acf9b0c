import type { Check, CheckResult } from '../../core/check.js';
import type { Log } from '../../core/log.js';
import { type OutcomeHooks, type Store, type StoreHealth, withHooks } from '../../core/store.js';
import { PendingRequest } from './batch.js';
import { BatchSender } from './batch-sender.js';
import { clientWarnings } from './client-warnings.js';
import { Coalescer } from './coalescer.js';
import { clientFor, connectionOf } from './connect.js';
import type { Connection } from './connection.js';
import { ConsumeCalls } from './consume-calls.js';
import { Deadline } from './deadline.js';
import { describeClient } from './describe-client.js';
import { toFailure } from './errors.js';
import { FullServers } from './full-servers.js';
import { type HashTags, prefixWithTag } from './hash-tags.js';
import { Probes } from './probes.js';
import { isClient, type RedisOption } from './redis-option.js';
import { Renewals } from './renewals.js';
import { Settlements } from './settlements.js';
import { Sender } from './sender.js';
import { ServerHealth } from './server-health.js';
import { Servers } from './servers.js';
import { StartCheck } from './start-check.js';
import { TurnWriter } from './turn-writer.js';

/** Errors of single calls are logged at most once per kind in this time. */
const LOG_PERIOD_MS = 10_000;

export interface RedisStoreOptions {
  readonly redis: RedisOption;
  /** How long a request may wait for Redis. */
  readonly timeoutMs: number;
  /** The first part of the key of each counter. */
  readonly namespace: string;
  /** Whether the checks of several requests may share a call. */
  readonly coalesce: boolean;
  /** The hash tags of counters in a Cluster; `undefined` elsewhere. */
  readonly placement: HashTags | undefined;
  /** Whether a wrong configuration makes `open` fail; `undefined`: it does not. */
  readonly requireStore?: boolean | undefined;
}

/**
 * What the store is made of, from the connection upward: each part uses only those before it. A request takes the way from
 * the end to the start:
 *
 * - `coalescer` puts it into a batch with others of the same turn of the event loop;
 * - `batches` sends each batch: as one call, or by key while a slot is moving;
 * - `ConsumeCalls` (in `batches`) calls the script, reads the reply, and reports the outcome to `health`;
 * - `sender` writes the call, or waits for a connection that was just lost.
 */
interface RedisStoreParts {
  readonly servers: Servers;
  readonly health: ServerHealth;
  readonly connection: Connection;
  readonly sender: Sender;
  readonly fullServers: FullServers;
  readonly settlements: Settlements;
  readonly renewals: Renewals;
  readonly batches: BatchSender;
  readonly coalescer: Coalescer;
  readonly probes: Probes;
}

/**
 * Counts in Redis: one script call for all checks of a request, and under load for those of many requests.
 *
 * No request waits longer than `timeoutMs`, nothing is queued for a server that is down, and no call that may have counted is
 * sent twice. In a Cluster, all checks of one request have the same hash tag.
 */
export class RedisStore implements Store {
  private constructor(
    private readonly options: RedisStoreOptions,
    private readonly parts: RedisStoreParts,
  ) {}

  static async create(options: RedisStoreOptions, log: Log): Promise<RedisStore> {
    const { redis, timeoutMs, namespace, coalesce, requireStore = false } = options;
    const used = await clientFor(redis);
    const { client, isOwn } = used;
    if (!isOwn) for (const warning of clientWarnings(client)) log.warn('FREQ_LIMIT_CLIENT_OPTIONS', warning);
    const servers = new Servers(client);
    const health = new ServerHealth(servers, log);
    const startCheck = requireStore ? new StartCheck(client, servers, namespace) : undefined;
    const connection = connectionOf(used, timeoutMs, { listener: health, startCheck });
    const sender = new Sender(connection);
    const fullServers = new FullServers();
    const limitedLog = log.limited(LOG_PERIOD_MS);
    const settlements = new Settlements({ sender, servers, health, timeoutMs, coalesce, log: limitedLog });
    const renewals = new Renewals({ sender, servers, health, timeoutMs, log: limitedLog });
    const calls = new ConsumeCalls({ sender, servers, health, fullServers, log: limitedLog });
    const batches = new BatchSender(calls, settlements, timeoutMs);
    const coalescer = new Coalescer(new TurnWriter(client, batches, settlements), coalesce);
    const probes = new Probes(batches, servers, health, namespace);
    const parts = {
      servers,
      health,
      connection,
      sender,
      fullServers,
      settlements,
      renewals,
      batches,
      coalescer,
      probes,
    };
    return new RedisStore(options, parts);
  }

  get place(): string {
    return describeClient(this.parts.connection.client, isClient(this.options.redis));
  }

  consume(
    checks: readonly Check[],
    settleable = false,
    queuedAtMs?: number,
    hooks?: OutcomeHooks,
  ): Promise<CheckResult[]> {
    return this.run(checks, true, settleable, queuedAtMs, hooks);
  }

  peek(checks: readonly Check[]): Promise<CheckResult[]> {
    return this.run(checks, false, false);
  }

  settle(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
    isInTime = false,
  ): Promise<CheckResult[]> {
    return this.parts.settlements.settle(this.withHashTags(checks), results, costs, isInTime);
  }

  renew(checks: readonly Check[]): Promise<(boolean | undefined)[]> {
    return this.parts.renewals.renew(this.withHashTags(checks));
  }

  async reset(checks: readonly Check[]): Promise<void> {
    if (checks.length === 0) return;
    const keys = this.withHashTags(checks).flatMap(keysOf);
    const deadline = new Deadline(this.options.timeoutMs);
    const { connection, servers } = this.parts;
    try {
      await deadline.wait(connection.open());
      // while a slot moves, a call can have one key only
      const calls = servers.isCluster ? keys.map((key) => [key]) : [keys];
      await Promise.all(calls.map((call) => this.delete(call, deadline)));
    } catch (error) {
      throw toFailure(error);
    }
  }

  health(): StoreHealth {
    const { probes, fullServers, health } = this.parts;
    probes.probeAll();
    return fullServers.withWarning(health.storeHealth());
  }

  async open(): Promise<void> {
    try {
      await this.parts.connection.open();
    } catch (error) {
      // the application does not start, so nothing else closes it
      await this.close();
      throw error;
    }
  }

  close(): Promise<void> {
    const { coalescer, settlements, connection } = this.parts;
    coalescer.close();
    settlements.flush();
    return connection.close();
  }

  private run(
    checks: readonly Check[],
    charging: boolean,
    settleable: boolean,
    queuedAtMs?: number,
    hooks?: OutcomeHooks,
  ): Promise<CheckResult[]> {
    const tagged = this.withHashTags(checks);
    const [first] = tagged;
    if (first === undefined) return Promise.resolve([]);
    const { servers, health, settlements, batches, coalescer } = this.parts;
    if (!this.mayCall(servers.of(first.key), tagged, charging)) {
      health.logOutage();
      return withHooks(Promise.reject(health.toError()), hooks);
    }
    const deadline =
      queuedAtMs === undefined ? undefined : Deadline.since(queuedAtMs, this.options.timeoutMs);
    const onTokens = settleable ? settlements.noteCharges(tagged, deadline) : undefined;
    const request = new PendingRequest(tagged, charging, onTokens, hooks);
    // a request that has waited already has less time than others, so it is sent on its own
    if (deadline !== undefined) return batches.sendAlone(request, deadline);
    coalescer.add(servers.isCluster ? prefixWithTag(first.key) : '', request);
    return request.promise;
  }

  /**
   * Whether a request may call a server. If its breaker is open, only a charge may try it: a server that answers a peek may
   * still refuse charges. For a peek, a probe charges a counter of the limiter's own.
   */
  private mayCall(server: string, checks: readonly Check[], charging: boolean): boolean {
    const breaker = this.parts.health.breakerOf(server);
    if (!breaker.isOpen) return true;
    if (charging && checks.some(({ cost }) => cost > 0)) return breaker.admits();
    this.parts.probes.probe(server);
    return false;
  }

  /** The checks with their keys in Redis: with a hash tag in a Cluster, unchanged elsewhere. */
  private withHashTags(checks: readonly Check[]): readonly Check[] {
    const { placement } = this.options;
    if (placement === undefined) return checks;
    return checks.map((check) => ({ ...check, key: placement.keyOf(check) }));
  }

  private async delete(keys: readonly string[], deadline: Deadline): Promise<void> {
    const [first] = keys;
    if (first === undefined) return;
    const { sender, servers } = this.parts;
    await sender.run({ server: servers.of(first), requests: 1, deadline }, (client) => client.del(...keys));
  }
}

/** The keys of a counter: also the one that counts its blocks, because a check of the service may not say that it has blocks. */
function keysOf({ key }: Check): string[] {
  return [key, `${key}!offences`];
}
