import { type Check, type CheckResult, isPlain } from '../../core/check.js';
import { MAX_CHECKS, MAX_KEYS } from './batch.js';
import type { SettledCharge } from './settle-codec.js';

/** The settlements of one call. */
export class SettleBatch {
  readonly charges: SettledCharge[] = [];
  /** The first check of each counter. */
  private readonly counters = new Map<string, Check>();
  private resolve!: (results: readonly CheckResult[] | Promise<readonly CheckResult[]>) => void;
  private readonly results = new Promise<readonly CheckResult[]>((resolve) => (this.resolve = resolve));

  /** Whether the charges of a request may share this call; the first ones always may. */
  fits(charges: readonly SettledCharge[]): boolean {
    return (
      this.charges.length === 0 ||
      (this.counters.size + charges.length <= MAX_KEYS &&
        this.charges.length + charges.length <= MAX_CHECKS &&
        charges.every(({ check }) => this.isLikeItsCounter(check)))
    );
  }

  /** Adds the charges of a request, which are settled together. Returns their results once the call has its answer. */
  async add(charges: readonly SettledCharge[]): Promise<readonly CheckResult[]> {
    const from = this.charges.length;
    this.charges.push(...charges);
    for (const { check } of charges) if (!this.counters.has(check.key)) this.counters.set(check.key, check);
    return (await this.results).slice(from, from + charges.length);
  }

  /** @param send settles all charges of the batch in one call */
  send(send: (charges: readonly SettledCharge[]) => Promise<readonly CheckResult[]>): void {
    this.resolve(send(this.charges));
  }

  /** A call has the block of a counter once, and what flows into a bucket: other requests may have others, by a function. */
  private isLikeItsCounter(check: Check): boolean {
    const first = this.counters.get(check.key);
    if (first === undefined || isPlain(check)) return true;
    return first.block === check.block && (check.kind.type !== 'token-bucket' || first.limit === check.limit);
  }
}
