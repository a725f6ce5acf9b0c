import timers from 'node:timers';
import type { Check } from '../../core/check.js';
import { Batch, type PendingRequest } from './batch.js';

// taken from the module at load time, so that a test's fake timers cannot keep requests waiting
const { setImmediate } = timers;

/** Sends the batches of one turn. */
export interface BatchWriter {
  /** Sends batches, in their order. */
  write(batches: readonly Batch[]): void;
  /** Sends at once from now on. */
  close(): void;
}

/**
 * Collects the checks of all requests that arrive in one turn of the event loop, and sends them together.
 *
 * With HTTP each request is a callback of its own: microtasks and `nextTick` end with it, so only `setImmediate` can see two
 * of them. It runs at the end of the turn, so a single request does not wait for a timer.
 * The order of arrival is the order of counting in a call, and requests that need different scripts have different calls. In a
 * Cluster only requests with the same hash tag may share a call.
 */
export class Coalescer {
  private batches: Batch[] = [];
  /** The batch that still takes requests, for each hash tag. */
  private openBatches = new Map<string, Batch>();
  /** The one that took the last request, and its tag. Without a Cluster there is only this one. */
  private lastBatch: Batch | undefined;
  private lastTag = '';

  constructor(
    private readonly writer: BatchWriter,
    /** Whether requests may share a call; else each is sent at once, on its own. */
    private readonly coalesce: boolean,
  ) {}

  add(tag: string, request: PendingRequest): void {
    // another script, so another call; no tag ends like this
    this.batchFor(request.isMixed ? `${tag} mixed` : tag, request.checks).add(request);
    if (!this.coalesce) this.flush();
  }

  /** Sends what has been collected, and later requests at once. */
  close(): void {
    this.writer.close();
    this.flush();
  }

  private batchFor(tag: string, checks: readonly Check[]): Batch {
    const open = tag === this.lastTag ? this.lastBatch : this.openBatches.get(tag);
    const batch = open?.fits(checks) === true ? open : this.newBatch();
    if (tag !== this.lastTag) this.switchTo(tag);
    this.lastBatch = batch;
    return batch;
  }

  private newBatch(): Batch {
    const batch = new Batch();
    if (this.batches.length > 0) {
      this.batches.push(batch);
      return batch;
    }
    if (this.coalesce) setImmediate(this.flush);
    // a push to an empty array takes room for 17 entries
    this.batches = [batch];
    return batch;
  }

  private switchTo(tag: string): void {
    if (this.lastBatch !== undefined) this.openBatches.set(this.lastTag, this.lastBatch);
    this.lastTag = tag;
  }

  private readonly flush = (): void => {
    if (this.batches.length === 0) return;
    const { batches } = this;
    this.batches = [];
    this.lastBatch = undefined;
    // Not `clear`: a cleared map keeps a reference from its old table to the new one. Once a table is in the heap's old part,
    // this chain would keep the batches of all later turns alive until the next full garbage collection.
    if (this.openBatches.size > 0) this.openBatches = new Map();
    this.writer.write(batches);
  };
}
