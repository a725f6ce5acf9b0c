import type { StoreHealth } from '../../core/store.js';

/** How many counters one process may create on a full server until it has room again: about 2 MB. */
const MAX_COUNTERS = 10_000;

/**
 * The servers that have reached `maxmemory`. Counters are small and expire, so they are still created. But a client that
 * sends a new value each time creates a counter each time, so their number is limited.
 */
export class FullServers {
  /** How many counters were created since the server became full. */
  private readonly opened = new Map<string, number>();

  /** Whether a call may still create counters although the server is full. */
  admits(server: string): boolean {
    return (this.opened.get(server) ?? 0) < MAX_COUNTERS;
  }

  /** A call succeeded only with the flag for a full server. */
  isFull(server: string): void {
    if (!this.opened.has(server)) this.opened.set(server, 0);
  }

  /** A charge succeeded in the usual way. */
  hasRoom(server: string): void {
    this.opened.delete(server);
  }

  /** A call has created this many counters. */
  letIn(server: string, counters: number): void {
    const opened = this.opened.get(server);
    if (opened !== undefined) this.opened.set(server, opened + counters);
  }

  /** Adds the reason to the health of the store if a server is full. */
  seenIn(health: StoreHealth): StoreHealth {
    if (!health.isUp || this.opened.size === 0) return health;
    return {
      ...health,
      reason: 'Redis is full (maxmemory): only a limited number of new counters is created; raise maxmemory',
    };
  }
}
