import { formatError } from '../../core/errors.js';
import { isInItsDatabase, refusalOf } from './database-check.js';
import type { RedisClient } from './redis-option.js';

/** A client and the state of its connections. A server is named as in `client.slots`. */
export interface Connection {
  readonly client: RedisClient;
  /**
   * Connects and waits until the server is ready, for a second at most, or a few with `requireStore`. A connection that is not
   * ready by then is opened in the background. A second call waits for the first.
   * @throws {FreqLimitError} only with `requireStore`, if the configuration of the store is wrong
   */
  open(): Promise<void>;
  close(): Promise<void>;
  /** Whether a call to this server is sent at once. False until `open` is done. */
  isReady(server: string): boolean;
  /** Whether the connection to this server was just lost, and its first reconnect is in progress. */
  isReturning(server: string): boolean;
  /** Resolves when one of the two above may have changed. */
  changed(): Promise<void>;
  /** Why no call may be sent to this server. */
  whyNotReady(server: string): string;
  /** The error with which a server of a Cluster has refused its connection; `undefined` if it has not. */
  refusalOf(server: string): unknown;
  /** Call it after a timeout: closes the connection to this server if it stays silent. */
  watchForSilence(server: string): void;
}

/** Called when a connection is lost or ready. */
export interface ConnectionListener {
  /** The connection was lost, and the first reconnect has failed. */
  onLost(reason: string): void;
  /** The server can be reached, but refuses this user, its database or a command. */
  onRefused(reason: string): void;
  /** The connection may be used. */
  onReady(): void;
}

/** Why no call may be sent to a client. */
export function whyNotReady(client: { readonly status: string }, lastError?: unknown): string {
  const refusal = refusalOf(client);
  if (refusal !== undefined) return formatError(refusal);
  if (client.status !== 'ready') {
    const why = lastError === undefined ? '' : `: ${formatError(lastError)}`;
    return `the connection is not ready (status: ${client.status})${why}`;
  }
  return isInItsDatabase(client)
    ? 'the server has closed the connection'
    : 'the server has not confirmed the database yet';
}
