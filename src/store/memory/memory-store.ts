import { type Check, type CheckResult, type Source, toResult } from '../../core/check.js';
import type { Store, StoreHealth, StoreLog } from '../../core/store.js';
import type { Counter } from './counter-group.js';
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
  /** Units charged: the cost, as far as numbers go. */
  readonly charged: number;
  /** Units used after it. */
  readonly used: number;
  readonly allowed: boolean;
}

/** What a check has charged, and may have back. */
interface Charge {
  readonly counter: Counter;
  readonly units: number;
}

/** Counts in this process: the default, for development, tests and applications of one process. */
export class MemoryStore implements Store {
  private readonly counters: Counters;
  private readonly charges = new WeakMap<CheckResult, Charge>();
  private hasWarned = false;

  constructor(
    private readonly maxCounters: number,
    private readonly log: StoreLog,
    private readonly clock: Clock = monotonic,
    /** What its answers say of where they come from. */
    private readonly source: Source = 'store',
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
  consume(checks: readonly Check[], refundable = false): CheckResult[] {
    const nowMs = Math.floor(this.clock());
    const steps = checks.map((check) => this.charge(check, nowMs));
    const passes = steps.every(({ allowed }) => allowed);
    if (!passes) takeBack(steps);
    const results = steps.map((step) => this.settle(step, passes, nowMs));
    for (const { check, used, charged } of steps) {
      if (charged > 0 && used === charged) this.counters.tidy(check.group, nowMs);
    }
    if (refundable) this.noteCharges(steps, results, passes);
    return results;
  }

  peek(checks: readonly Check[]): CheckResult[] {
    const nowMs = Math.floor(this.clock());
    return checks.map((check) => this.settle(this.look(check, nowMs), true, nowMs));
  }

  refund(checks: readonly Check[], results: readonly CheckResult[]): CheckResult[] {
    const nowMs = Math.floor(this.clock());
    const given = checks.map((check, i) => this.giveBack(check, results[i], nowMs));
    return results.map((result, i) => {
      const check = checks[i];
      return check !== undefined && given[i] === true ? this.seen(check, result.allowed, nowMs) : result;
    });
  }

  reset(checks: readonly Check[]): void {
    for (const { key } of checks) {
      const counter = this.counters.get(key, -Infinity);
      if (counter !== undefined) this.counters.delete(counter);
    }
  }

  health(): StoreHealth {
    return { store: 'memory', isUp: true, reason: undefined, since: undefined };
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
    const { key, group, windowMs, limit, cost } = check;
    const counter = this.counters.get(key, nowMs) ?? this.counters.open(key, group, nowMs + windowMs);
    const before = counter.used;
    // beyond 2^53 a sum is not exact, and what is charged must be taken back to the unit
    counter.used = Math.min(before + cost, Number.MAX_SAFE_INTEGER);
    return {
      check,
      counter,
      charged: counter.used - before,
      used: counter.used,
      allowed: before + cost <= limit,
    };
  }

  private look(check: Check, nowMs: number): Step {
    const counter = this.counters.get(check.key, nowMs);
    const used = counter?.used ?? 0;
    return { check, counter, charged: 0, used, allowed: used + check.cost <= check.limit };
  }

  /** Keeps the counter in order, or drops it when nothing is left in it, and answers the check. */
  private settle({ check, allowed, ...step }: Step, passes: boolean, nowMs: number): CheckResult {
    // a look may have come before another check of its request opened the window
    const counter = step.counter ?? (passes ? undefined : this.counters.get(check.key, nowMs));
    if (counter === undefined) return toResult(check, allowed, 0, 0, this.source);
    const used = passes ? step.used : counter.used;
    if (counter.used === 0) this.counters.delete(counter);
    else if (!allowed || counter.used >= check.limit) counter.group.markAtLimit(counter);
    return toResult(check, allowed, used, used === 0 ? 0 : counter.endsAtMs - nowMs, this.source);
  }

  private noteCharges(steps: readonly Step[], results: readonly CheckResult[], passes: boolean): void {
    steps.forEach(({ check, counter, charged }, i) => {
      const result = results[i];
      if (counter === undefined || result === undefined || !(passes || check.countDenied)) return;
      // a charge that was cut off at the maximum is not refunded: how much was cut off is not known
      if (charged > 0 && charged === check.cost) this.charges.set(result, { counter, units: charged });
    });
  }

  /** Whether there was something to give back, once; into a later window nothing is. */
  private giveBack({ key }: Check, result: CheckResult | undefined, nowMs: number): boolean {
    const charge = result && this.charges.get(result);
    if (result === undefined || charge === undefined) return false;
    this.charges.delete(result);
    const { counter, units } = charge;
    if (this.counters.get(key, nowMs) !== counter) return true;
    counter.used -= Math.min(units, counter.used);
    if (counter.used === 0) this.counters.delete(counter);
    return true;
  }

  /** What a check is answered now, whatever its counter has come to. */
  private seen(check: Check, allowed: boolean, nowMs: number): CheckResult {
    const counter = this.counters.get(check.key, nowMs);
    return toResult(check, allowed, counter?.used ?? 0, counter ? counter.endsAtMs - nowMs : 0, this.source);
  }

  private warnOfLoss(): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.log.warn(
      `There are more than ${this.maxCounters} counters in memory: some are dropped before their window ends, and their ` +
        'callers counted anew. Raise maxCounters, or count in Redis.',
    );
  }
}

function takeBack(steps: readonly Step[]): void {
  for (const { check, counter, charged } of steps) {
    if (counter !== undefined && !check.countDenied) counter.used -= charged;
  }
}
