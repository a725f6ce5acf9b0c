import { refusalOf } from './database-check.js';
import type { ConnectionListener } from './connection.js';
import { waitAtMost } from './deadline.js';
import { describeError } from './error-hints.js';
import { FollowedConnection } from './followed-connection.js';
import type { RedisClient } from './redis-option.js';

const MAX_START_MS = 1_000;

/** The connection of a client that was passed as an option, and that other code uses too. It is never closed here. */
export class BorrowedConnection extends FollowedConnection {
  constructor(
    client: RedisClient,
    private readonly listener: ConnectionListener,
  ) {
    super(client);
  }

  close(): Promise<void> {
    this.detach();
    return Promise.resolve();
  }

  watchForSilence(): void {
    // other code may wait on it for any time, so only its owner may close it
  }

  protected async connect(): Promise<void> {
    const { client } = this;
    if (this.isUsable || refusalOf(client) !== undefined) return;
    // a lazy client would connect at its first command
    if (client.status === 'wait') client.connect?.().catch(() => undefined);
    await waitAtMost(MAX_START_MS, this.settled);
  }

  protected onReady(): void {
    this.listener.onReady();
  }

  protected onRefused(error: unknown): void {
    this.listener.onRefused(`Redis refused the connection: ${describeError(error)}`);
  }

  protected onLost(): void {
    // its owner may close it at any time, so this is logged only when a request needs it
  }
}
