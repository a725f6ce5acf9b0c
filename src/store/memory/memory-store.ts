import {
  type Check,
  type CheckResult,
  isPlain,
  needsSettling,
  type Source,
  toSettledResult,
  toResult,
} from '../../core/check.js';
import { leaseOf } from '../../core/counter-kind.js';
import { unitsAfter } from '../../core/counters/counting.js';
import type { Log } from '../../core/log.js';
import { groupChecks, inOriginalOrder } from '../../core/split-request.js';
import type { Store, StoreHealth } from '../../core/store.js';
import type { Counter } from './counter-group.js';
import { Counters } from './counters.js';
import { type MixedCharge, MixedCounters, type Times } from './mixed-counters.js';

/** Milliseconds that only increase; their origin does not matter. */
export type Clock = () => number;

// Not the time of day: a change of the system clock would end or extend every window. Looked up at each call, so that it
// follows a test's fake timers.
const monotonic: Clock = () => performance.now();

/** The clock of a test moves the time of day too. */
function timeOfDayBy(clock: Clock): Clock {
  if (clock === monotonic) return () => Date.now();
  const offsetMs = Date.now() - clock();
  return () => clock() + offsetMs;
}

/** What a check did to its counter, before it is known whether the request passes. */
interface Step {
  readonly check: Check;
  readonly counter: Counter | undefined;
  /** Units charged: the cost, or less if the counter has reached its maximum. */
  readonly charged: number;
  /** Units used after this check. */
  readonly used: number;
  readonly allowed: boolean;
}

/** What a check was charged and can be settled. */
interface Charge {
  readonly counter: Counter;
  readonly units: number;
}

/** Counts in this process: the default, for development, tests and applications of one process. */
export class MemoryStore implements Store {
  readonly place = 'the memory of this process';
  private readonly counters: Counters;
  private readonly mixed: MixedCounters;
  private readonly charges = new WeakMap<CheckResult, Charge>();
  private readonly mixedCharges = new WeakMap<CheckResult, MixedCharge>();
  private hasWarned = false;

  constructor(
    private readonly maxCounters: number,
    private readonly log: Log,
    private readonly clock: Clock = monotonic,
    /** The `source` of its results. */
    private readonly source: Source = 'store',
    /** The time of day, in milliseconds since 1970. */
    private readonly timeOfDay: Clock = timeOfDayBy(clock),
  ) {
    this.counters = new Counters(maxCounters, () => {
      this.warnOnce();
    });
    this.mixed = new MixedCounters(this.counters, source);
  }

  /** The number of counters, including expired ones that are not removed yet. */
  get size(): number {
    return this.counters.size;
  }

  // Like lua/consume.lua: charges all checks, and undoes what does not count if one of them denies.
  consume(checks: readonly Check[], settleable = false): CheckResult[] {
    const nowMs = Math.floor(this.clock());
    if (this.isMixed(checks, nowMs)) return this.consumeMixed(checks, settleable, nowMs);
    const steps = checks.map((check) => this.charge(check, nowMs));
    const passes = steps.every(({ allowed }) => allowed);
    if (!passes) undoCharges(steps);
    const results = steps.map((step) => this.finish(step, passes, nowMs));
    for (const { check, used, charged } of steps) {
      if (charged > 0 && used === charged) this.counters.tidy(check.group, nowMs);
    }
    if (settleable) this.noteCharges(steps, results, passes);
    return results;
  }

  peek(checks: readonly Check[]): CheckResult[] {
    const nowMs = Math.floor(this.clock());
    return checks.map((check) => this.peekAt(check, nowMs));
  }

  settle(checks: readonly Check[], results: readonly CheckResult[], costs: readonly number[]): CheckResult[] {
    const nowMs = Math.floor(this.clock());
    const isSettled = checks.map((check, i) => this.settleOne(check, results[i], costs[i], nowMs));
    return results.map((result, i) => {
      const check = checks[i];
      return check !== undefined && isSettled[i] === true
        ? toSettledResult(check, result, this.peekAt(check, nowMs))
        : result;
    });
  }

  renew(checks: readonly Check[]): boolean[] {
    const times = this.times(Math.floor(this.clock()));
    const groups = groupChecks(checks, ({ key }) => key);
    const renewed = groups.map(({ checks: ofKey }) =>
      ofKey.slice(0, 1).flatMap((first) => this.mixed.renew(first, ofKey.map(leaseOf), times)),
    );
    return inOriginalOrder(groups, renewed);
  }

  reset(checks: readonly Check[]): void {
    for (const check of checks) {
      const counter = this.counters.get(check, -Infinity);
      if (counter !== undefined) this.counters.delete(counter);
    }
  }

  health(): StoreHealth {
    return { store: 'memory', isUp: true, reason: undefined, since: undefined };
  }

  async open(): Promise<void> {
    // there is nothing to connect to
  }

  close(): Promise<void> {
    this.counters.clear();
    return Promise.resolve();
  }

  /** Whether a request needs more than fixed windows without blocks. */
  private isMixed(checks: readonly Check[], nowMs: number): boolean {
    const { isUsed } = this.mixed;
    return checks.some(
      (check) => !isPlain(check) || (isUsed && this.counters.get(check, nowMs)?.mixed !== undefined),
    );
  }

  private consumeMixed(checks: readonly Check[], settleable: boolean, nowMs: number): CheckResult[] {
    return this.mixed.consume(
      checks,
      this.times(nowMs),
      settleable ? (result, charge) => this.mixedCharges.set(result, charge) : undefined,
    );
  }

  private peekAt(check: Check, nowMs: number): CheckResult {
    return this.isMixed([check], nowMs)
      ? this.mixed.peek(check, this.times(nowMs))
      : this.finish(this.peekOne(check, nowMs), true, nowMs);
  }

  private times(nowMs: number): Times {
    return { nowMs, ofDayMs: Math.floor(this.timeOfDay()) };
  }

  private charge(check: Check, nowMs: number): Step {
    if (check.cost === 0) return this.peekOne(check, nowMs);
    const { limit, cost } = check;
    const counter = this.counters.get(check, nowMs) ?? this.counters.open(check, nowMs);
    const before = counter.used;
    // sums above 2^53 are not exact, and a charge must be undone exactly
    counter.used = Math.min(before + cost, Number.MAX_SAFE_INTEGER);
    return {
      check,
      counter,
      charged: counter.used - before,
      used: counter.used,
      allowed: before + cost <= limit,
    };
  }

  private peekOne(check: Check, nowMs: number): Step {
    const counter = this.counters.get(check, nowMs);
    const used = counter?.used ?? 0;
    return { check, counter, charged: 0, used, allowed: used + check.cost <= check.limit };
  }

  /** Returns the result of a check. Marks its counter if it has reached the limit; deletes it if it counts nothing. */
  private finish(step: Step, passes: boolean, nowMs: number): CheckResult {
    const { check, allowed } = step;
    // a check with cost 0 may come before the check of its request that opened the window
    const counter = step.counter ?? (passes ? undefined : this.counters.get(check, nowMs));
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
      // a charge that was cut off at the maximum is not refunded: how much was cut off is not known later
      if (charged > 0 && charged === check.cost) this.charges.set(result, { counter, units: charged });
    });
  }

  /**
   * Settles a result once, unless its window has ended.
   * @returns whether there was a charge with another cost
   */
  private settleOne(
    check: Check,
    result: CheckResult | undefined,
    cost: number | undefined,
    nowMs: number,
  ): boolean {
    if (result === undefined || cost === undefined) return false;
    if (check.kind.type === 'concurrency') return this.release(check, nowMs);
    const [charge, mixed] = [this.charges.get(result), this.mixedCharges.get(result)];
    this.charges.delete(result);
    this.mixedCharges.delete(result);
    if (!needsSettling(check, cost)) return false;
    if (charge !== undefined) this.settleFixed(check, charge, cost, nowMs);
    else if (mixed !== undefined) this.mixed.settle(check, mixed, cost, this.times(nowMs));
    return charge !== undefined || mixed !== undefined;
  }

  /** Releases a lease by its id. */
  private release(check: Check, nowMs: number): boolean {
    const counter = this.counters.get(check, nowMs);
    if (counter !== undefined) this.mixed.settle(check, { counter, token: 0 }, 0, this.times(nowMs));
    return true;
  }

  private settleFixed(check: Check, { counter, units }: Charge, cost: number, nowMs: number): void {
    // a counter that blocks has no units
    if (this.counters.get(check, nowMs) !== counter || counter.mixed !== undefined) return;
    counter.used = unitsAfter(counter.used, { charged: units, cost });
    if (counter.used === 0) this.counters.delete(counter);
    else if (counter.used >= check.limit) counter.group.markAtLimit(counter);
  }

  private warnOnce(): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.log.warn(
      'FREQ_LIMIT_MEMORY_FULL',
      `There are more than ${this.maxCounters} counters in memory, so some are dropped before they expire and their clients ` +
        'start again at 0. Raise maxCounters, or set the option redis to count in Redis.',
    );
  }
}

function undoCharges(steps: readonly Step[]): void {
  for (const { check, counter, charged } of steps) {
    if (counter !== undefined && !check.countDenied) counter.used -= charged;
  }
}
