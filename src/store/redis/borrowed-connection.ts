import { refusalOf } from './database-check.js';
import { FollowedConnection } from './followed-connection.js';

/** The connection of a client that was passed as an option, and that other code uses too. It is never closed here. */
export class BorrowedConnection extends FollowedConnection {
  protected readonly isOwn = false;

  close(): Promise<void> {
    this.isClosed = true;
    this.errors.detach();
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
    await this.settled;
  }
}
