import { type Counter, CounterList } from './counter-list.js';

/** The counters of one window length: each list in the order in which its counters end, or nearly so. */
interface Lane {
  /** Counters below their limit, the soonest to end first. */
  readonly open: CounterList;
  /** Counters that have reached their limit, in the order they did: each ends within a window of its neighbour. */
  readonly full: CounterList;
}

/**
 * A bounded number of counters that end by themselves.
 *
 * No timer: each new counter clears away two ended ones, so that they are gone as fast as they come. When there is
 * no room, the counter nearest to its end goes, one that has reached its limit only when all of them have: a visitor
 * who makes up keys must not push out the counter that blocks him.
 */
export class Counters {
  private readonly byKey = new Map<string, Counter>();
  private readonly lanes = new Map<number, Lane>();
  private nextLane: Iterator<[number, Lane]> | undefined;

  constructor(
    private readonly most: number,
    /** Told whenever a counter at its limit has to go before its end. */
    private readonly onFullLost: () => void,
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

  /** Opens a window. The counter is not kept in order, and makes no room, until it is `settle`d. */
  open(key: string, endsAtMs: number): Counter {
    const counter: Counter = {
      key,
      endsAtMs,
      used: 0,
      list: undefined,
      previous: undefined,
      next: undefined,
    };
    this.byKey.set(key, counter);
    return counter;
  }

  /** Keeps a counter in order after it was charged. */
  settle(counter: Counter, windowMs: number, isFull: boolean, nowMs: number): void {
    // another check of the same request may have needed its room
    if (this.byKey.get(counter.key) !== counter) return;
    const lane = this.lane(windowMs);
    const isNew = counter.list === undefined;
    if (isNew || (isFull && counter.list === lane.open)) {
      counter.list?.remove(counter);
      (isFull ? lane.full : lane.open).push(counter);
    }
    if (!isNew) return;
    this.clearEnded(lane, nowMs);
    this.clearEnded(this.someLane(), nowMs);
    while (this.byKey.size > this.most && this.makeRoom(nowMs));
  }

  delete(counter: Counter): void {
    if (this.byKey.get(counter.key) === counter) this.byKey.delete(counter.key);
    counter.list?.remove(counter);
  }

  clear(): void {
    this.byKey.clear();
    this.lanes.clear();
  }

  private lane(windowMs: number): Lane {
    let lane = this.lanes.get(windowMs);
    if (lane === undefined) {
      lane = { open: new CounterList(), full: new CounterList() };
      this.lanes.set(windowMs, lane);
    }
    return lane;
  }

  /** One lane after the other, so that lanes without visitors are cleared too. */
  private someLane(): Lane {
    let step = this.nextLane?.next();
    if (step === undefined || step.done === true) {
      this.nextLane = this.lanes.entries();
      step = this.nextLane.next();
    }
    const [windowMs, lane] = step.value as [number, Lane];
    if (lane.open.first === undefined && lane.full.first === undefined) this.lanes.delete(windowMs);
    return lane;
  }

  private clearEnded(lane: Lane, nowMs: number): void {
    for (const { first } of [lane.open, lane.full]) {
      if (first !== undefined && first.endsAtMs < nowMs) this.delete(first);
    }
  }

  /** Removes one counter; `false` where none is in order yet. */
  private makeRoom(nowMs: number): boolean {
    const lanes = [...this.lanes.values()];
    const full = soonest(lanes.map((lane) => lane.full));
    const open = soonest(lanes.map((lane) => lane.open));
    const goes = full !== undefined && full.endsAtMs < nowMs ? full : (open ?? full);
    if (goes === undefined) return false;
    if (goes === full && full.endsAtMs >= nowMs) this.onFullLost();
    this.delete(goes);
    return true;
  }
}

function soonest(lists: readonly CounterList[]): Counter | undefined {
  let found: Counter | undefined;
  for (const { first } of lists) {
    if (first !== undefined && (found === undefined || first.endsAtMs < found.endsAtMs)) found = first;
  }
  return found;
}
