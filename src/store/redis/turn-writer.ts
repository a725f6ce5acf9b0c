import timers from 'node:timers';
import type { Batch } from './batch.js';
import type { BatchSender } from './batch-sender.js';
import type { BatchWriter } from './coalescer.js';
import type { RedisClient } from './redis-option.js';
import type { Settlements } from './settlements.js';

// taken from the module at load time, so that a test's fake timers cannot keep requests waiting
const { setImmediate } = timers;

/** Servers close connections that are idle for whole seconds. */
const IDLE_MS = 1_000;

/** Writes the batches of one turn of the event loop together. */
export class TurnWriter implements BatchWriter {
  private writtenAtMs = -Infinity;
  private isClosing = false;

  constructor(
    private readonly client: RedisClient,
    private readonly sender: BatchSender,
    private readonly settlements: Settlements,
  ) {}

  /**
   * The server may have closed an idle connection while this process was blocked in this very turn: before such a connection
   * is used, the sockets are read.
   */
  write(batches: readonly Batch[]): void {
    const nowMs = performance.now();
    const wasIdle = nowMs - this.writtenAtMs >= IDLE_MS;
    this.writtenAtMs = nowMs;
    if (wasIdle && !this.isClosing)
      setImmediate(() => {
        this.writeAll(batches);
      });
    else this.writeAll(batches);
  }

  /** Writes at once from now on, because the connection is about to be closed. */
  close(): void {
    this.isClosing = true;
  }

  /** Several calls share a write: a write costs more than its content, for this process and for the server. */
  private writeAll(batches: readonly Batch[]): void {
    const stream = batches.length > 1 ? this.client.stream : undefined;
    stream?.cork();
    // first what other requests have given back: a slot that was released in this turn is free for the next request
    this.settlements.flush();
    for (const batch of batches) this.sender.send(batch);
    stream?.uncork();
  }
}
