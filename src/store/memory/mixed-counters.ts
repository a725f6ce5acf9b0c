import { capacityOf } from '../../core/counter-kind.js';
import { type Check, type CheckResult, type Source, toMeasuredResult } from '../../core/check.js';
import type { CalendarState } from '../../core/counters/calendar-window.js';
import { type LeasesState, renewLeases } from '../../core/counters/concurrency.js';
import {
  type Counter as Counted,
  countingOf,
  expiresAtMs,
  isBlocked,
  newCounter,
  stateAt,
} from '../../core/counters/counter.js';
import { decide, type Decision, peek, settle } from '../../core/counters/decide.js';
import type { FixedState } from '../../core/counters/fixed-window.js';
import type { Counter } from './counter-group.js';
import type { Counters } from './counters.js';

/** The time of a request by two clocks, in whole milliseconds. */
export interface Times {
  /** By the clock of the counters, which only increases. */
  readonly nowMs: number;
  /** The time of day, in milliseconds since 1970: calendars follow it. */
  readonly ofDayMs: number;
}

/** What a check was charged and can be settled. */
export interface MixedCharge {
  readonly counter: Counter;
  readonly token: number;
}

type OnCharge = (result: CheckResult, charge: MixedCharge) => void;

/** A check of a request, and its counter. */
interface Entry {
  /** A calendar's times are by the clock of the counters. */
  readonly check: Check;
  readonly counter: Counter;
  /** What the counter holds, by the clock of the counters; the same for all checks on it. */
  readonly counted: Counted;
}

/**
 * Decides requests with counters of any kind, like `lua/consume-mixed.lua`.
 *
 * What a counter holds is in its part `mixed`. A fixed window that neither blocks nor remembers blocks has no such part, because
 * requests with nothing but fixed windows use it too.
 */
export class MixedCounters {
  /** Whether some counter may have a mixed part. */
  isUsed = false;

  constructor(
    private readonly counters: Counters,
    /** The `source` of the results. */
    private readonly source: Source,
  ) {}

  /** @param onCharge called for each result whose check was charged its whole cost */
  consume(checks: readonly Check[], times: Times, onCharge?: OnCharge): CheckResult[] {
    this.isUsed = true;
    const loaded = new Map<Counter, Counted>();
    const entries = checks.map((check) => {
      const counter = this.counters.get(check, times.nowMs) ?? this.counters.open(check, times.nowMs);
      const counted = loaded.get(counter) ?? load(counter, check, times);
      loaded.set(counter, counted);
      return { check: byStoreClock(check, times), counter, counted };
    });
    const decisions = decide(
      entries.map(({ check }) => check),
      entries.map(({ counted }) => counted),
      times.nowMs,
    );
    for (const entry of entries) this.save(entry, times);
    for (const { check } of entries) this.counters.tidy(check.group, times.nowMs);
    return entries.map(({ check, counter }, i) => {
      const decision = decisions[i];
      const result = this.resultOf(check, decision);
      if (decision?.token !== undefined)
        onCharge?.(result, { counter, token: decision.token + clockOffset(check, times) });
      return result;
    });
  }

  /** What `consume` would say about a check on its own; charges nothing. */
  peek(check: Check, times: Times): CheckResult {
    const counter = this.counters.get(check, times.nowMs);
    const counted = counter === undefined ? newCounter() : load(counter, check, times);
    return this.resultOf(check, peek(byStoreClock(check, times), counted, times.nowMs));
  }

  /** Settles a charge by the real cost, unless its window is over. A bucket gets a debt also if it has refilled. */
  settle(check: Check, charge: MixedCharge, cost: number, times: Times): void {
    const isDebtOfBucket = check.kind.type === 'token-bucket' && cost > check.cost;
    const found = this.counters.get(check, times.nowMs);
    if (found !== charge.counter && !isDebtOfBucket) return;
    const counter = found ?? this.counters.open(check, times.nowMs);
    const entry = { check: byStoreClock(check, times), counter, counted: load(counter, check, times) };
    const token = charge.token - clockOffset(check, times);
    settle(entry.check, entry.counted, { token, cost }, times.nowMs);
    this.save(entry, times);
    if (found === undefined) this.counters.tidy(check.group, times.nowMs);
  }

  /** Renews leases of one counter. Returns for each whether it was still there. */
  renew(check: Check, ids: readonly string[], times: Times): boolean[] {
    this.isUsed = true;
    const { nowMs } = times;
    const counter = this.counters.get(check, nowMs) ?? this.counters.open(check, nowMs);
    const counted = load(counter, check, times);
    const state = stateAt(counted, check, nowMs) as LeasesState | undefined;
    const before = new Set(state?.leases.map(({ id }) => id));
    counted.state = renewLeases(state, ids, check, nowMs);
    this.save({ check, counter, counted }, times);
    this.counters.tidy(check.group, nowMs);
    return ids.map((id) => before.has(id));
  }

  private resultOf(check: Check, decision: Decision | undefined): CheckResult {
    if (decision === undefined) throw new RangeError('a check was not decided');
    return toMeasuredResult(check, decision, this.source);
  }

  private save({ check, counter, counted }: Entry, times: Times): void {
    const { nowMs } = times;
    const endsAtMs = expiresAtMs(counted, check, nowMs) - 1;
    if (endsAtMs < nowMs) {
      this.counters.delete(counter);
      return;
    }
    const { state, blockedUntilMs, offences } = counted;
    const used = state === undefined ? 0 : countingOf(check).used(state);
    counter.endsAtMs = endsAtMs;
    if (check.kind.type === 'fixed-window' && blockedUntilMs === undefined && offences === undefined) {
      counter.used = used;
      counter.mixed = undefined;
      if (used >= check.limit) counter.group.markAtLimit(counter);
      return;
    }
    counter.mixed = { blockedUntilMs, offences, state: moved(state, clockOffset(check, times)) };
    counter.group.requeue(counter, isBlocked(counted, nowMs) || used >= capacityOf(check));
  }
}

/** What a counter holds, by the clock of the counters. */
function load(counter: Counter, check: Check, times: Times): Counted {
  const { mixed, used, endsAtMs } = counter;
  if (mixed !== undefined) return { ...mixed, state: moved(mixed.state, -clockOffset(check, times)) };
  const state: FixedState | undefined = used > 0 ? { used, endsAtMs } : undefined;
  return { ...newCounter(), state };
}

/** A check whose calendar has the times of the clock of the counters. */
function byStoreClock(check: Check, times: Times): Check {
  const { kind } = check;
  if (kind.type !== 'calendar') return check;
  const byMs = -clockOffset(check, times);
  return {
    ...check,
    kind: {
      type: 'calendar',
      startsAtMs: kind.startsAtMs + byMs,
      endsAtMs: kind.endsAtMs + byMs,
      nextEndsAtMs: kind.nextEndsAtMs + byMs,
    },
  };
}

/** The state and the tokens of a calendar are kept by the time of day: a change of the system's clock moves its end. */
function clockOffset({ kind }: Check, { nowMs, ofDayMs }: Times): number {
  return kind.type === 'calendar' ? ofDayMs - nowMs : 0;
}

function moved(state: Counted['state'], byMs: number): Counted['state'] {
  if (state === undefined || byMs === 0) return state;
  const calendar = state as CalendarState;
  return { ...calendar, endsAtMs: calendar.endsAtMs + byMs };
}
