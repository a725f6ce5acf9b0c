import type { Connection } from './connection.js';
import type { Deadline } from './deadline.js';
import { isDisconnect, NotReadyError } from './errors.js';
import type { RedisClient } from './redis-option.js';
import type { Script } from './script.js';

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

/**
 * Sends calls. A call is sent at once, or waits until a connection that was just lost is back: nothing of it was sent, so
 * nothing can count twice. The client's own queue is not used, because it could send the call long after the request was
 * decided.
 */
export class Sender {
  private held = 0;

  constructor(private readonly connection: Connection) {}

  /** Runs a script on a server. */
  call(script: Script, call: ScriptCall): Promise<unknown> {
    return this.run(call, (client) => script.run(client, call.keys, call.args));
  }

  /** Runs any command on a server. */
  run<T>(wait: CallTarget, command: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.connection.isReady(wait.server)) return this.write(wait, command);
    return this.hold(wait).then(() => this.write(wait, command));
  }

  /** The error of a call, or if that says only that there is no connection, why the server has refused it. */
  explain(server: string, error: unknown): unknown {
    return isDisconnect(error) ? (this.connection.refusalOf(server) ?? error) : error;
  }

  private write<T>(
    { server, deadline }: CallTarget,
    command: (client: RedisClient) => Promise<T>,
  ): Promise<T> {
    const { connection } = this;
    return deadline.wait(command(connection.client), () => {
      connection.watchForSilence(server);
    });
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
