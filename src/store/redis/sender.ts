import type { Connection } from './connection.js';
import { type Deadline, TimeoutError, Wait } from './deadline.js';
import { isDisconnect, NotReadyError } from './errors.js';
import type { RedisClient } from './redis-option.js';
import { isMissing, type Script } from './script.js';

/** How many requests may wait for a reconnect at the same time. Their checks are in memory meanwhile. */
const MAX_HELD_REQUESTS = 5_000;

/** What a call may wait for, and how long. */
export interface CallTarget {
  /** The server of its keys. */
  readonly server: string;
  /** How many requests wait for it. */
  readonly requests: number;
  readonly deadline: Deadline;
}

/** A call of a script. */
export interface ScriptCall extends CallTarget {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** Receives the outcome of a call: one of the two is called, once. */
export interface CallListener {
  onReply(reply: unknown): void;
  onError(error: unknown): void;
}

/**
 * Sends calls. A call is sent at once, or waits until a connection that was just lost is back: nothing of it was sent, so
 * nothing can count twice. The client's own queue is not used, because it could send the call long after the request was
 * decided.
 */
export class Sender {
  private held = 0;

  constructor(private readonly connection: Connection) {}

  /**
   * Runs a script on a server.
   * @throws if a client that the application passed throws
   */
  send(script: Script, call: ScriptCall, listener: CallListener): void {
    const { connection } = this;
    if (connection.isReady(call.server)) {
      new SentCall(connection, script, call, listener).start();
      return;
    }
    this.hold(call)
      .then(() => {
        new SentCall(connection, script, call, listener).start();
      })
      .catch((error: unknown) => {
        listener.onError(error);
      });
  }

  /** Runs a script on a server. */
  call(script: Script, call: ScriptCall): Promise<unknown> {
    return new Promise((onReply, onError) => {
      this.send(script, call, { onReply, onError });
    });
  }

  /** Runs any command on a server. */
  async run<T>(target: CallTarget, command: (client: RedisClient) => Promise<T>): Promise<T> {
    const { connection } = this;
    if (!connection.isReady(target.server)) await this.hold(target);
    try {
      return await target.deadline.wait(command(connection.client));
    } catch (error) {
      if (error instanceof TimeoutError) connection.watchForSilence(target.server);
      throw error;
    }
  }

  /** The error of a call, or if that says only that there is no connection, why the server has refused it. */
  explain(server: string, error: unknown): unknown {
    return isDisconnect(error) ? (this.connection.refusalOf(server) ?? error) : error;
  }

  /** Waits for the first connect or reconnect, until the call's deadline. */
  private async hold({ server, requests, deadline }: CallTarget): Promise<void> {
    const { connection } = this;
    await deadline.wait(connection.open());
    while (!connection.isReady(server)) {
      if (!connection.isReturning(server) || this.held + requests > MAX_HELD_REQUESTS)
        throw new NotReadyError(connection.whyNotReady(server));
      this.held += requests;
      try {
        await deadline.wait(connection.changed());
      } catch {
        throw new NotReadyError(connection.whyNotReady(server));
      } finally {
        this.held -= requests;
      }
    }
  }
}

/** A call that was written and waits for its reply. */
class SentCall extends Wait<unknown> {
  /** Whether the whole script was sent. */
  private isWhole = false;

  constructor(
    private readonly connection: Connection,
    private readonly script: Script,
    private readonly call: ScriptCall,
    private readonly listener: CallListener,
  ) {
    super(call.deadline);
  }

  start(): void {
    const { keys, args } = this.call;
    this.follow(this.script.runBySha(this.connection.client, keys, args));
  }

  protected onAnswer(reply: unknown): void {
    this.listener.onReply(reply);
  }

  protected onError(error: unknown): void {
    if (isMissing(error) && !this.isWhole) this.startWhole();
    else this.listener.onError(error);
  }

  protected override onTimeout(error: TimeoutError): void {
    this.connection.watchForSilence(this.call.server);
    this.listener.onError(error);
  }

  /** The server does not have the script and has run nothing. */
  private startWhole(): void {
    this.isWhole = true;
    const { keys, args } = this.call;
    try {
      this.follow(this.script.runWhole(this.connection.client, keys, args));
    } catch (error) {
      this.listener.onError(error);
    }
  }
}
