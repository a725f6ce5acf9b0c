import type { Check, CheckResult } from '../../core/check.js';
import { Batch } from './redis-codec.js';

// taken once, so that a test's fake timers do not keep visits from the server
const { setImmediate } = globalThis;

/**
 * Gathers the checks of all requests that arrive in one turn of the event loop, and sends them together.
 *
 * Under HTTP each request is a callback of its own: microtasks and `nextTick` end with it, so nothing short of
 * `setImmediate` sees two of them. It runs at the end of the turn; a lone request waits for no timer.
 * The order of arrival is the order of counting.
 */
export class Coalescer {
  private batch: Batch | undefined;
  private full: Batch[] = [];

  constructor(
    /** Sends the calls of one turn, in their order. */
    private readonly send: (batches: readonly Batch[]) => void,
    /** Whether requests may share a call; else each is sent at once, on its own. */
    private readonly coalesce: boolean,
  ) {}

  ask(checks: readonly Check[], charging: boolean): Promise<CheckResult[]> {
    return new Promise((resolve, reject) => {
      this.batchFor(checks).add({ checks, charging, resolve, reject });
      if (!this.coalesce) this.flush();
    });
  }

  private batchFor(checks: readonly Check[]): Batch {
    if (this.batch === undefined) {
      this.batch = new Batch();
      if (this.coalesce)
        setImmediate(() => {
          this.flush();
        });
    } else if (!this.batch.fits(checks)) {
      this.full.push(this.batch);
      this.batch = new Batch();
    }
    return this.batch;
  }

  /** Sends what has gathered. */
  flush(): void {
    if (this.batch === undefined) return;
    const batches = [...this.full, this.batch];
    this.batch = undefined;
    this.full = [];
    this.send(batches);
  }
}
