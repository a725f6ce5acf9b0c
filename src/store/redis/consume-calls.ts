import { formatError } from '../../core/errors.js';
import type { LimitedLog } from '../../core/limited-log.js';
import type { Batch } from './batch.js';
import type { Breaker } from './breaker.js';
import { encodeBatch, readReply } from './consume-codec.js';
import type { Deadline } from './deadline.js';
import { isAboutKey, isFull, isMoving, ReplyError, toFailure } from './errors.js';
import type { FullServers } from './full-servers.js';
import { consumeLua } from './lua.generated.js';
import { Script } from './script.js';
import type { ScriptCall, Sender } from './sender.js';
import type { ServerHealth } from './server-health.js';
import type { Servers } from './servers.js';

const CONSUME = new Script(consumeLua);
/** For a full server: counters are small and expire by themselves, so they are created all the same (Redis ≥ 7). */
const CONSUME_WHEN_FULL = new Script(`#!lua flags=allow-oom\n${consumeLua}`);

export interface ConsumeCallsParts {
  readonly sender: Sender;
  readonly servers: Servers;
  readonly health: ServerHealth;
  readonly fullServers: FullServers;
  readonly log: LimitedLog;
}

/** Calls lua/consume.lua: gives the requests of a batch their results, and reports the outcome to the server's health. */
export class ConsumeCalls {
  constructor(private readonly parts: ConsumeCallsParts) {}

  /** @returns whether the requests have their results or an error; else nothing was run, because their slot is moving */
  async send(batch: Batch, deadline: Deadline): Promise<boolean> {
    const { servers, health, fullServers } = this.parts;
    const server = servers.of(batch.someKey);
    const breaker = health.breakerOf(server);
    try {
      const created = this.read(batch, await this.call(batch, server, deadline), breaker);
      fullServers.noteCreated(server, created);
      health.tidy();
    } catch (error) {
      if (batch.isDivisible && isMoving(error)) return false;
      batch.fail(health.noteFailure(breaker, error));
    }
    return true;
  }

  /** Calls the script, and on a full server once more with the flag for that, for a limited number of new counters. */
  private async call(batch: Batch, server: string, deadline: Deadline): Promise<unknown> {
    const { sender, fullServers } = this.parts;
    const { keys, args } = encodeBatch(batch);
    const call = { keys, args, server, requests: batch.size, deadline };
    try {
      const reply = await sender.call(CONSUME, call);
      if (batch.changesCounters) fullServers.noteRoom(server);
      return reply;
    } catch (error) {
      // the server refused the first write, so nothing is counted
      if (!isFull(error) || !fullServers.admits(server)) throw error;
      return this.callFull(call, error);
    }
  }

  private async callFull(call: ScriptCall, error: unknown): Promise<unknown> {
    const { sender, fullServers, log } = this.parts;
    try {
      const reply = await sender.call(CONSUME_WHEN_FULL, call);
      fullServers.noteFull(call.server);
      log.error(
        'FREQ_LIMIT_STORE_FULL',
        'full',
        'Redis is full (maxmemory), so only a limited number of new counters is created; raise maxmemory, or give the ' +
          'limiter its own Redis',
      );
      return reply;
    } catch (second) {
      // servers before Redis 7 do not know the flag
      throw formatError(second).includes('compiling') ? error : second;
    }
  }

  /** Gives each request its results. Returns how many counters the call has created. */
  private read(batch: Batch, reply: unknown, breaker: Breaker): number {
    const { health } = this.parts;
    let errorOfServer: ReplyError | undefined;
    const created = readReply(batch, reply, (text) => {
      const error = new ReplyError(text);
      if (isAboutKey(error)) return this.unreadable(error);
      errorOfServer = error;
      return toFailure(error);
    });
    if (errorOfServer === undefined) health.noteSuccess(breaker, batch.changesCounters);
    else health.noteFailure(breaker, errorOfServer);
    return created;
  }

  private unreadable(error: ReplyError): Error {
    const failure = toFailure(error);
    this.parts.log.error('FREQ_LIMIT_COUNTER_UNREADABLE', failure.message, failure.message);
    return failure;
  }
}
