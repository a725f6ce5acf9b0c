import { type Deadline, TimeoutError } from './deadline.js';
import { NotReadyError } from './failures.js';
import { type Connection, whyNotReady } from './redis-connection.js';
import type { Script } from './script.js';

/** How many requests may wait at once for a reconnect. Their checks are in memory meanwhile. */
const MAX_HELD_REQUESTS = 5_000;

/** One call of a script. */
export interface Call {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The server that has its keys. */
  readonly server: string;
  /** How many requests wait for it. */
  readonly requests: number;
  readonly deadline: Deadline;
}

/**
 * Calls scripts. A call is sent at once, or waits until a connection that was just lost is back: nothing of it was sent, so
 * nothing can count twice. The client's own queue is not used, because it could send the call long after the request was
 * answered.
 */
export class Caller {
  private held = 0;

  constructor(private readonly connection: Connection) {}

  async call(script: Script, call: Call): Promise<unknown> {
    const { connection } = this;
    const { keys, args, server, deadline } = call;
    if (!connection.isReady(server)) await this.hold(call);
    try {
      return await deadline.wait(script.run(connection.client, keys, args));
    } catch (error) {
      if (error instanceof TimeoutError) connection.watch(server);
      throw error;
    }
  }

  /** Waits for the first reconnect, until the call's deadline. */
  async hold({ server, requests, deadline }: Pick<Call, 'server' | 'requests' | 'deadline'>): Promise<void> {
    const { connection } = this;
    while (!connection.isReady(server)) {
      if (!connection.isReturning(server) || this.held + requests > MAX_HELD_REQUESTS)
        throw new NotReadyError(whyNotReady(connection.client));
      this.held += requests;
      try {
        await deadline.wait(connection.changed());
      } catch {
        throw new NotReadyError(whyNotReady(connection.client));
      } finally {
        this.held -= requests;
      }
    }
  }
}
