import type { StoreHealth } from '../../core/store.js';

/** How many counters one process may create on a full server until it has room again: about 2 MB. */
const MAX_COUNTERS = 10_000;

/**
 * The servers that have reached `maxmemory`. Counters are small and expire, so they are still created. But a client that
 * sends a new value each time creates a counter each time, so their number is limited.
 */
export class FullServers {
  /** How many counters were created since the server became full. */
  private readonly created = new Map<string, number>();

  /** Whether a call may still create counters although the server is full. */
  admits(server: string): boolean {
    return (this.created.get(server) ?? 0) < MAX_COUNTERS;
  }

  /** A call succeeded only with the flag for a full server. */
  noteFull(server: string): void {
    if (!this.created.has(server)) this.created.set(server, 0);
  }

  /** A charge succeeded without the flag. */
  noteRoom(server: string): void {
    this.created.delete(server);
  }

  /** A call has created this many counters. */
  noteCreated(server: string, counters: number): void {
    const created = this.created.get(server);
    if (created !== undefined) this.created.set(server, created + counters);
  }

  /** Adds a warning to the health of the store if a server is full. */
  withWarning(health: StoreHealth): StoreHealth {
    if (!health.isUp || this.created.size === 0) return health;
    return {
      ...health,
      reason:
        'Redis is full (maxmemory), so only a limited number of new counters is created; raise maxmemory',
    };
  }
}
