import type { Check } from '../../core/check.js';
import { type Counter, CounterGroup } from './counter-group.js';

/** How many groups are inspected to make room. Only windows that clients choose can make more groups than this. */
const MAX_INSPECTED_GROUPS = 256;
/** How many expired counters of a group are removed for each new counter. */
const MAX_REMOVED = 2;

/**
 * A bounded number of counters that expire by themselves.
 *
 * No timer: each new counter removes a few expired ones, so that they go as fast as they come. If there is no room, the
 * group with the most counters drops one: the next to expire, and one that denies requests only if all of them do. So a
 * client that makes up keys can push out neither the counter that denies it nor the counters of other rules. Counters of
 * leases go last: their work is still running, and there are not more of them than requests that run.
 */
export class Counters {
  /** How many there are, including expired ones that are not removed yet. */
  size = 0;
  private readonly groups = new Map<string, CounterGroup>();
  private nextGroup: Iterator<[string, CounterGroup]> | undefined;

  constructor(
    private readonly maxCounters: number,
    /** Called when a counter is dropped before it has expired. */
    private readonly onEviction: () => void,
  ) {}

  /** The counter of a check; `undefined` if there is none or it has expired. */
  get({ group, text }: Check, nowMs: number): Counter | undefined {
    const counter = this.groups.get(group)?.get(text);
    if (counter === undefined || nowMs <= counter.endsAtMs) return counter;
    this.delete(counter);
    return undefined;
  }

  /** Opens the window of a check whose counter has none. */
  open({ group: name, text, windowMs, kind }: Check, nowMs: number): Counter {
    const group = this.groupOf(name);
    group.holdsLeases = kind.type === 'concurrency';
    const counter: Counter = {
      text,
      endsAtMs: nowMs + windowMs,
      used: 0,
      mixed: undefined,
      group,
      byExpiry: undefined,
      underLimit: undefined,
    };
    group.add(counter);
    this.size++;
    return counter;
  }

  delete(counter: Counter): void {
    if (counter.group.remove(counter)) this.size--;
  }

  /** Removes a few expired counters, and keeps the bound. Call it once after each request that opened a window. */
  tidy(group: string, nowMs: number): void {
    this.removeExpired(this.groupOf(group), nowMs);
    this.removeExpired(this.someGroup(), nowMs);
    while (this.size > this.maxCounters) this.makeRoom(nowMs);
  }

  clear(): void {
    this.size = 0;
    this.groups.clear();
  }

  private groupOf(name: string): CounterGroup {
    let group = this.groups.get(name);
    if (group === undefined) {
      group = new CounterGroup();
      this.groups.set(name, group);
    }
    return group;
  }

  /** One group after the other, so that groups without requests are tidied too. */
  private someGroup(): CounterGroup {
    let step = this.nextGroup?.next();
    if (step === undefined || step.done === true) {
      this.nextGroup = this.groups.entries();
      step = this.nextGroup.next();
    }
    const [name, group] = step.value as [string, CounterGroup];
    if (group.size === 0) this.groups.delete(name);
    return group;
  }

  private removeExpired({ byExpiry }: CounterGroup, nowMs: number): void {
    for (let i = 0; i < MAX_REMOVED && byExpiry.first !== undefined && byExpiry.first.endsAtMs < nowMs; i++)
      this.delete(byExpiry.first);
  }

  private makeRoom(nowMs: number): void {
    let largest: CounterGroup | undefined;
    for (let i = Math.min(this.groups.size, MAX_INSPECTED_GROUPS); i > 0; i--) {
      const group = this.someGroup();
      const { first } = group.byExpiry;
      if (first !== undefined && first.endsAtMs < nowMs) {
        this.delete(first);
        return;
      }
      if (largest === undefined || isEvictedBefore(group, largest)) largest = group;
    }
    const evicted = largest?.evictionCandidate;
    if (evicted === undefined) return;
    this.onEviction();
    this.delete(evicted);
  }
}

function isEvictedBefore(group: CounterGroup, other: CounterGroup): boolean {
  return group.holdsLeases === other.holdsLeases ? group.size > other.size : other.holdsLeases;
}
