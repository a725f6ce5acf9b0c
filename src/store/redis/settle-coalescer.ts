import timers from 'node:timers';
import { type CheckResult, isPlain } from '../../core/check.js';
import { SettleBatch } from './settle-batch.js';
import type { SettledCharge } from './settle-codec.js';

// taken from the module at load time, so that a test's fake timers cannot keep settlements waiting
const { setImmediate } = timers;

/**
 * Collects the settlements of one turn of the event loop, and sends them together. Those of one request are never split. In a
 * Cluster only requests with the same hash tag may share a call.
 */
export class SettleCoalescer {
  private batches: SettleBatch[] = [];
  /** The batch that still takes requests, for each hash tag and script. */
  private openBatches = new Map<string, SettleBatch>();

  constructor(
    /** Settles charges in one call. */
    private readonly send: (charges: readonly SettledCharge[]) => Promise<readonly CheckResult[]>,
    /** Whether requests may share a call; else each is sent at once, on its own. */
    private readonly coalesce: boolean,
  ) {}

  /** Settles the charges of a request. */
  add(tag: string, charges: readonly SettledCharge[]): Promise<readonly CheckResult[]> {
    const isMixed = !charges.every(({ check }) => isPlain(check));
    // another script, so another call; no tag ends like this
    const results = this.batchFor(isMixed ? `${tag} mixed` : tag, charges).add(charges);
    if (!this.coalesce) this.flush();
    return results;
  }

  /** Sends what has been collected. */
  readonly flush = (): void => {
    const { batches } = this;
    this.batches = [];
    // not `clear`: see `Coalescer`
    if (this.openBatches.size > 0) this.openBatches = new Map();
    for (const batch of batches) batch.send(this.send);
  };

  private batchFor(name: string, charges: readonly SettledCharge[]): SettleBatch {
    const open = this.openBatches.get(name);
    if (open?.fits(charges) === true) return open;
    const batch = new SettleBatch();
    if (this.batches.length === 0 && this.coalesce) setImmediate(this.flush);
    this.batches.push(batch);
    this.openBatches.set(name, batch);
    return batch;
  }
}
