import type { StoreHealth } from '../store.js';

/** Most counters that one process opens on a server that is full, until it has room again: some 2 MB. */
const MAX_COUNTERS = 10_000;

/**
 * The servers that have reached `maxmemory`. Counters are small and expire, so they are let in all the same. But a caller
 * who sends another value each time opens a counter each time; so only so many are let in.
 */
export class FullServers {
  /** Counters that were opened since the server is full. */
  private readonly opened = new Map<string, number>();

  /** Whether a call may still be let in although the server is full. */
  admits(server: string): boolean {
    return (this.opened.get(server) ?? 0) < MAX_COUNTERS;
  }

  /** The server has let in a call only because it was told to. */
  isFull(server: string): void {
    if (!this.opened.has(server)) this.opened.set(server, 0);
  }

  /** The server has taken a charge in the usual way. */
  hasRoom(server: string): void {
    this.opened.delete(server);
  }

  /** A call has opened so many counters. */
  letIn(server: string, counters: number): void {
    const opened = this.opened.get(server);
    if (opened !== undefined) this.opened.set(server, opened + counters);
  }

  /** The health of the store, with what must be said of full servers. */
  seenIn(health: StoreHealth): StoreHealth {
    if (!health.isUp || this.opened.size === 0) return health;
    return {
      ...health,
      reason: 'Redis is full (maxmemory): it lets in only a limited number of new counters',
    };
  }
}
