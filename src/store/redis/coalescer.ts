import timers from 'node:timers';
import type { Check, CheckResult } from '../../core/check.js';
import { Batch, type UnsentRequest } from './batch.js';

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
 * The order of arrival is the order of counting. In a Cluster only requests with the same hash tag may share a call.
 */
export class Coalescer {
  private batches: Batch[] = [];
  /** The batch that still takes requests, for each hash tag. */
  private readonly open = new Map<string, Batch>();

  constructor(
    private readonly writer: BatchWriter,
    /** Whether requests may share a call; else each is sent at once, on its own. */
    private readonly coalesce: boolean,
  ) {}

  add(tag: string, request: UnsentRequest): Promise<CheckResult[]> {
    return new Promise((resolve, reject) => {
      const { checks, charging, onEnds } = request;
      this.batchFor(tag, checks).add({ checks, charging, onEnds, resolve, reject });
      if (!this.coalesce) this.flush();
    });
  }

  /** Sends what has been collected, and later requests at once. */
  close(): void {
    this.writer.close();
    this.flush();
  }

  private batchFor(tag: string, checks: readonly Check[]): Batch {
    const open = this.open.get(tag);
    if (open?.fits(checks) === true) return open;
    if (this.batches.length === 0 && this.coalesce)
      setImmediate(() => {
        this.flush();
      });
    const batch = new Batch();
    this.batches.push(batch);
    this.open.set(tag, batch);
    return batch;
  }

  private flush(): void {
    if (this.batches.length === 0) return;
    const { batches } = this;
    this.batches = [];
    this.open.clear();
    this.writer.write(batches);
  }
}
