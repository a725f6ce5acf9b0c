import { type Counter, CounterGroup } from './counter-group.js';

/** How many lanes are looked at to make room. An application has fewer; only windows made up by callers are more. */
const LANES_LOOKED_AT = 256;

/**
 * A bounded number of counters that end by themselves.
 *
 * No timer: each new counter clears away ended ones, so that they are gone as fast as they come. When there is no
 * room, the rule with the most counters gives one up, the nearest to its end, and one that denies its caller only when
 * all of them do: a visitor who makes up keys must push out neither the counter that blocks him, nor those of other
 * rules.
 */
export class Counters {
  private readonly byKey = new Map<string, Counter>();
  private readonly lanes = new Map<string, CounterGroup>();
  private nextLane: Iterator<[string, CounterGroup]> | undefined;

  constructor(
    private readonly most: number,
    /** Told whenever a counter has to go before its end. */
    private readonly onLoss: () => void,
  ) {}

  get size(): number {
    return this.byKey.size;
  }

  /** The living counter of a key. */
  get(key: string, nowMs: number): Counter | undefined {
    const counter = this.byKey.get(key);
    if (counter === undefined || nowMs <= counter.endsAtMs) return counter;
    this.delete(counter);
    return undefined;
  }

  /** Opens a window for a key that has none. */
  open(key: string, group: string, endsAtMs: number): Counter {
    const counter: Counter = {
      key,
      endsAtMs,
      used: 0,
      group: this.lane(group),
      byEnd: undefined,
      below: undefined,
    };
    this.byKey.set(key, counter);
    counter.group.add(counter);
    return counter;
  }

  delete(counter: Counter): void {
    if (this.byKey.get(counter.key) !== counter) return;
    this.byKey.delete(counter.key);
    counter.group.remove(counter);
  }

  /** Clears away a few that have ended, and keeps the bound. Once after each request that opened a window. */
  tidy(group: string, nowMs: number): void {
    this.clearEnded(this.lane(group), nowMs);
    this.clearEnded(this.someLane(), nowMs);
    while (this.byKey.size > this.most) this.makeRoom(nowMs);
  }

  clear(): void {
    this.byKey.clear();
    this.lanes.clear();
  }

  private lane(group: string): CounterGroup {
    let lane = this.lanes.get(group);
    if (lane === undefined) {
      lane = new CounterGroup();
      this.lanes.set(group, lane);
    }
    return lane;
  }

  /** One lane after the other, so that lanes without visitors are cleared too. */
  private someLane(): CounterGroup {
    let step = this.nextLane?.next();
    if (step === undefined || step.done === true) {
      this.nextLane = this.lanes.entries();
      step = this.nextLane.next();
    }
    const [group, lane] = step.value as [string, CounterGroup];
    if (lane.size === 0) this.lanes.delete(group);
    return lane;
  }

  private clearEnded({ byEnd }: CounterGroup, nowMs: number): void {
    for (let i = 0; i < 2 && byEnd.first !== undefined && byEnd.first.endsAtMs < nowMs; i++)
      this.delete(byEnd.first);
  }

  private makeRoom(nowMs: number): void {
    let largest: CounterGroup | undefined;
    for (let i = Math.min(this.lanes.size, LANES_LOOKED_AT); i > 0; i--) {
      const lane = this.someLane();
      const { first } = lane.byEnd;
      if (first !== undefined && first.endsAtMs < nowMs) {
        this.delete(first);
        return;
      }
      if (largest === undefined || lane.size > largest.size) largest = lane;
    }
    const goes = largest?.evictionCandidate;
    if (goes === undefined) return;
    this.onLoss();
    this.delete(goes);
  }
}
