import timers from 'node:timers';
import type { Check, CheckResult } from '../../core/check.js';
import { Batch, type PendingRequest } from './redis-codec.js';

// the module's own, and taken once, so that a test's fake timers do not keep visits from the server
const { setImmediate } = timers;

/**
 * Gathers the checks of all requests that arrive in one turn of the event loop, and sends them together.
 *
 * Under HTTP each request is a callback of its own: microtasks and `nextTick` end with it, so nothing short of
 * `setImmediate` sees two of them. It runs at the end of the turn; a lone request waits for no timer.
 * The order of arrival is the order of counting. In a Cluster only what has one hash tag may travel together.
 */
export class Coalescer {
  private batches: Batch[] = [];
  /** The batch that still takes requests, for each hash tag. */
  private readonly open = new Map<string, Batch>();

  constructor(
    /** Sends the calls of one turn, in their order. */
    private readonly send: (batches: readonly Batch[]) => void,
    /** Whether requests may share a call; else each is sent at once, on its own. */
    private readonly coalesce: boolean,
  ) {}

  ask(tag: string, request: Omit<PendingRequest, 'resolve' | 'reject'>): Promise<CheckResult[]> {
    return new Promise((resolve, reject) => {
      this.batchFor(tag, request.checks).add({ ...request, resolve, reject });
      if (!this.coalesce) this.flush();
    });
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

  /** Sends what has gathered. */
  flush(): void {
    if (this.batches.length === 0) return;
    const { batches } = this;
    this.batches = [];
    this.open.clear();
    this.send(batches);
  }
}
