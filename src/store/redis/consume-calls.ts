import type { Check } from '../../core/check.js';
import type { LimitedLog } from '../../core/limited-log.js';
import { Batch, PendingRequest } from './batch.js';
import type { Breaker } from './breaker.js';
import { encodeBatch, readReply } from './consume-codec.js';
import type { Deadline } from './deadline.js';
import { isAboutKey, isFull, isMoving, ReplyError, toFailure } from './errors.js';
import type { FullServers } from './full-servers.js';
import { consumeLua, consumeMixedLua } from './lua.generated.js';
import type { RedisClient } from './redis-option.js';
import { isOldServer, Script, whenFull } from './script.js';
import type { CallListener, ScriptCall, Sender } from './sender.js';
import type { ServerHealth } from './server-health.js';
import { encodeMixed, readMixed } from './mixed-codec.js';
import type { Servers } from './servers.js';

/** A script, and how its arguments and its reply are made and read. */
interface ConsumeScript {
  readonly script: Script;
  /** For a full server: counters are small and expire by themselves, so they are created all the same (Redis ≥ 7). */
  readonly whenFull: Script;
  readonly encode: typeof encodeBatch;
  readonly read: typeof readReply;
}

function consumeScript(source: string, codec: Pick<ConsumeScript, 'encode' | 'read'>): ConsumeScript {
  return {
    script: new Script(source),
    whenFull: whenFull(source),
    ...codec,
  };
}

/** For fixed windows without blocks, which it counts in less time. */
const PLAIN = consumeScript(consumeLua, { encode: encodeBatch, read: readReply });
const MIXED = consumeScript(consumeMixedLua, { encode: encodeMixed, read: readMixed });

const scriptFor = (batch: Batch): ConsumeScript => (batch.isMixed ? MIXED : PLAIN);

/** Runs the script of a request, and nothing else: the server's health does not get the outcome. */
export function tryConsume(client: RedisClient, check: Check): Promise<unknown> {
  const batch = Batch.of(new PendingRequest([check], true));
  const { script, encode } = scriptFor(batch);
  const { keys, args } = encode(batch);
  return script.run(client, keys, args);
}

export interface ConsumeCallsParts {
  readonly sender: Sender;
  readonly servers: Servers;
  readonly health: ServerHealth;
  readonly fullServers: FullServers;
  readonly log: LimitedLog;
}

/** Called for a batch of which nothing was run, because its slot is moving. */
export type OnMoving = (batch: Batch, deadline: Deadline) => void;

/** Calls lua/consume.lua or lua/consume-mixed.lua: gives the requests of a batch their results, and reports the outcome to the server's health. */
export class ConsumeCalls {
  constructor(private readonly parts: ConsumeCallsParts) {}

  send(batch: Batch, deadline: Deadline, onMoving: OnMoving): void {
    new ConsumeCall(this.parts, batch, deadline, onMoving).send();
  }
}

/** The call of one batch. */
class ConsumeCall implements ScriptCall, CallListener {
  readonly server: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  private readonly breaker: Breaker;
  private readonly consume: ConsumeScript;

  constructor(
    private readonly parts: ConsumeCallsParts,
    private readonly batch: Batch,
    readonly deadline: Deadline,
    private readonly onMoving: OnMoving,
  ) {
    this.server = parts.servers.of(batch.someKey);
    this.consume = scriptFor(batch);
    const { keys, args } = this.consume.encode(batch);
    this.keys = keys;
    this.args = args;
    this.breaker = parts.health.breakerOf(this.server);
  }

  get requests(): number {
    return this.batch.size;
  }

  send(): void {
    try {
      this.parts.sender.send(this.consume.script, this, this);
    } catch (error) {
      // a client that was passed may throw
      this.fail(error);
    }
  }

  onReply(reply: unknown): void {
    if (this.batch.changesCounters) this.parts.fullServers.noteRoom(this.server);
    this.read(reply);
  }

  onError(error: unknown): void {
    // a full server refused the first write, so nothing is counted
    if (isFull(error) && this.parts.fullServers.admits(this.server)) void this.callFull(error);
    else this.fail(error);
  }

  private fail(error: unknown): void {
    const { batch, breaker, server } = this;
    const { sender, health } = this.parts;
    if (batch.isDivisible && isMoving(error)) this.onMoving(batch, this.deadline);
    else batch.fail(health.noteFailure(breaker, sender.explain(server, error)));
  }

  /** Calls the script once more with the flag for a full server, for a limited number of new counters. */
  private async callFull(error: unknown): Promise<void> {
    const { sender, fullServers, log } = this.parts;
    let reply: unknown;
    try {
      reply = await sender.call(this.consume.whenFull, this);
    } catch (second) {
      // servers before Redis 7 do not know the flag
      this.fail(isOldServer(second) ? error : second);
      return;
    }
    fullServers.noteFull(this.server);
    log.error(
      'FREQ_LIMIT_STORE_FULL',
      'full',
      'Redis is full (maxmemory), so only a limited number of new counters is created; raise maxmemory, or give the ' +
        'limiter its own Redis',
    );
    this.read(reply);
  }

  /** Gives each request its results. */
  private read(reply: unknown): void {
    const { batch, breaker } = this;
    const { health, fullServers } = this.parts;
    let errorOfServer: ReplyError | undefined;
    try {
      const created = this.consume.read(batch, reply, (text) => {
        const error = new ReplyError(text);
        if (isAboutKey(error)) return this.unreadable(error);
        errorOfServer = error;
        return toFailure(error);
      });
      fullServers.noteCreated(this.server, created);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (errorOfServer === undefined) health.noteSuccess(breaker, batch.changesCounters);
    else health.noteFailure(breaker, errorOfServer);
    health.tidy();
  }

  private unreadable(error: ReplyError): Error {
    const failure = toFailure(error);
    this.parts.log.error('FREQ_LIMIT_COUNTER_UNREADABLE', failure.message, failure.message);
    return failure;
  }
}
