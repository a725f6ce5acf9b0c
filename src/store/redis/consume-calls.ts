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

/** Called for a batch of which nothing was run, because its slot is moving. */
export type OnMoving = (batch: Batch, deadline: Deadline) => void;

/** A batch whose call was sent. */
interface SentBatch {
  readonly batch: Batch;
  readonly call: ScriptCall;
  readonly breaker: Breaker;
  readonly onMoving: OnMoving;
}

/** Calls lua/consume.lua: gives the requests of a batch their results, and reports the outcome to the server's health. */
export class ConsumeCalls {
  constructor(private readonly parts: ConsumeCallsParts) {}

  /** Sends a batch. Not `async`: with few requests for each call, its promises would cost more than the rest. */
  send(batch: Batch, deadline: Deadline, onMoving: OnMoving): void {
    const { sender, servers, health } = this.parts;
    const server = servers.of(batch.someKey);
    const { keys, args } = encodeBatch(batch);
    const call = { keys, args, server, requests: batch.size, deadline };
    const sent = { batch, call, breaker: health.breakerOf(server), onMoving };
    try {
      sender.call(CONSUME, call).then(
        (reply) => {
          this.onReply(sent, reply);
        },
        (error: unknown) => {
          this.onError(sent, error);
        },
      );
    } catch (error) {
      // a client that was passed may throw
      this.fail(sent, error);
    }
  }

  private onReply(sent: SentBatch, reply: unknown): void {
    if (sent.batch.changesCounters) this.parts.fullServers.noteRoom(sent.call.server);
    this.read(sent, reply);
  }

  private onError(sent: SentBatch, error: unknown): void {
    // a full server refused the first write, so nothing is counted
    if (isFull(error) && this.parts.fullServers.admits(sent.call.server)) void this.callFull(sent, error);
    else this.fail(sent, error);
  }

  private fail({ batch, call, breaker, onMoving }: SentBatch, error: unknown): void {
    const { sender, health } = this.parts;
    if (batch.isDivisible && isMoving(error)) onMoving(batch, call.deadline);
    else batch.fail(health.noteFailure(breaker, sender.explain(call.server, error)));
  }

  /** Calls the script once more with the flag for a full server, for a limited number of new counters. */
  private async callFull(sent: SentBatch, error: unknown): Promise<void> {
    const { sender, fullServers, log } = this.parts;
    const { call } = sent;
    let reply: unknown;
    try {
      reply = await sender.call(CONSUME_WHEN_FULL, call);
    } catch (second) {
      // servers before Redis 7 do not know the flag
      this.fail(sent, formatError(second).includes('compiling') ? error : second);
      return;
    }
    fullServers.noteFull(call.server);
    log.error(
      'FREQ_LIMIT_STORE_FULL',
      'full',
      'Redis is full (maxmemory), so only a limited number of new counters is created; raise maxmemory, or give the ' +
        'limiter its own Redis',
    );
    this.read(sent, reply);
  }

  /** Gives each request its results. */
  private read(sent: SentBatch, reply: unknown): void {
    const { batch, call, breaker } = sent;
    const { health, fullServers } = this.parts;
    let errorOfServer: ReplyError | undefined;
    try {
      const created = readReply(batch, reply, (text) => {
        const error = new ReplyError(text);
        if (isAboutKey(error)) return this.unreadable(error);
        errorOfServer = error;
        return toFailure(error);
      });
      fullServers.noteCreated(call.server, created);
    } catch (error) {
      this.fail(sent, error);
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
