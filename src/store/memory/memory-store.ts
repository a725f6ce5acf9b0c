import { type Check, type CheckResult, toResult } from '../../core/check.js';
import type { Store, StoreLog } from '../store.js';
import type { Counter } from './counter-list.js';
import { Counters } from './counters.js';

/** Milliseconds that only ever go forward; where they begin does not matter. */
export type Clock = () => number;

// Not the time of day: somebody who sets the system's clock would end, or prolong, every window. Looked up at each
// call, so that a test's fake timers are believed.
const monotonic: Clock = () => performance.now();

/** What one check did to its counter, before it is known whether the request passes. */
interface Step {
  readonly check: Check;
  readonly counter: Counter | undefined;
  /** Units used after it. */
  readonly used: number;
  readonly allowed: boolean;
  readonly charged: boolean;
}

/** Counts in this process: the default, for development, tests and applications of one process. */
export class MemoryStore implements Store {
  private readonly counters: Counters;
  private hasWarned = false;

  constructor(
    private readonly maxCounters: number,
    private readonly log: StoreLog,
    private readonly clock: Clock = monotonic,
  ) {
    this.counters = new Counters(maxCounters, () => {
      this.warnOfLoss();
    });
  }

  /** How many counters there are, those that have ended and not yet been cleared away included. */
  get size(): number {
    return this.counters.size;
  }

  // What lua/consume.lua does for a request: charge, and take back what does not count where one check denies.
  consume(checks: readonly Check[]): CheckResult[] {
    const nowMs = Math.floor(this.clock());
    const steps = checks.map((check) => this.charge(check, nowMs));
    const passes = steps.every(({ allowed }) => allowed);
    if (!passes) takeBack(steps);
    return steps.map((step) => this.settle(step, passes, nowMs));
  }

  peek(checks: readonly Check[]): CheckResult[] {
    const nowMs = Math.floor(this.clock());
    return checks.map((check) => this.settle(this.look(check, nowMs), true, nowMs));
  }

  reset(keys: readonly string[]): void {
    for (const key of keys) {
      const counter = this.counters.get(key, -Infinity);
      if (counter !== undefined) this.counters.delete(counter);
    }
  }

  async open(): Promise<void> {
    // there is nothing to make ready
  }

  close(): Promise<void> {
    this.counters.clear();
    return Promise.resolve();
  }

  private charge(check: Check, nowMs: number): Step {
    if (check.cost === 0) return this.look(check, nowMs);
    const counter =
      this.counters.get(check.key, nowMs) ?? this.counters.open(check.key, nowMs + check.windowMs);
    counter.used += check.cost;
    return { check, counter, used: counter.used, allowed: counter.used <= check.limit, charged: true };
  }

  private look(check: Check, nowMs: number): Step {
    const counter = this.counters.get(check.key, nowMs);
    const used = counter?.used ?? 0;
    return { check, counter, used, allowed: used + check.cost <= check.limit, charged: false };
  }

  /** Keeps the counter in order, or drops it when nothing is left in it, and answers the check. */
  private settle(
    { check, counter, allowed, charged, ...step }: Step,
    passes: boolean,
    nowMs: number,
  ): CheckResult {
    if (counter === undefined) return toResult(check, allowed, 0, 0);
    const used = passes ? step.used : counter.used;
    if (counter.used === 0) this.counters.delete(counter);
    else if (charged) this.counters.settle(counter, check.windowMs, counter.used >= check.limit, nowMs);
    return toResult(check, allowed, used, used === 0 ? 0 : counter.endsAtMs - nowMs);
  }

  private warnOfLoss(): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.log.warn(
      `All ${this.maxCounters} counters in memory are at their limit: some callers are let in before their time. ` +
        'Raise maxCounters, or count in Redis.',
    );
  }
}

function takeBack(steps: readonly Step[]): void {
  for (const { check, counter, charged } of steps) {
    if (charged && counter !== undefined && !check.countDenied) counter.used -= check.cost;
  }
}
