/** The neighbours of a counter in one list. */
interface Link {
  previous: Counter | undefined;
  next: Counter | undefined;
}

type LinkName = 'byEnd' | 'below';

/** A counter of the memory store, its lane, and its places in the lane's lists. */
export interface Counter {
  readonly key: string;
  /** By the store's clock; the counter lives through this millisecond. */
  readonly endsAtMs: number;
  used: number;
  readonly group: CounterGroup;
  byEnd: Link | undefined;
  below: Link | undefined;
}

/** A queue of counters that any of them can leave. All of its steps take the same short time, however long it is. */
class CounterList {
  first: Counter | undefined;
  private last: Counter | undefined;

  /** A counter can be in several lists, in each by a link of its own. */
  constructor(private readonly link: LinkName) {}

  push(counter: Counter): void {
    counter[this.link] = { previous: this.last, next: undefined };
    const before = this.last?.[this.link];
    if (before === undefined) this.first = counter;
    else before.next = counter;
    this.last = counter;
  }

  remove(counter: Counter): void {
    const link = counter[this.link];
    if (link === undefined) return;
    const { previous, next } = link;
    const [before, after] = [previous?.[this.link], next?.[this.link]];
    if (before === undefined) this.first = next;
    else before.next = next;
    if (after === undefined) this.last = previous;
    else after.previous = previous;
    counter[this.link] = undefined;
  }
}

/** The counters of one rule in one window: they end in the order in which they were opened. */
export class CounterGroup {
  size = 0;
  /** All of them, the soonest to end first. */
  readonly byEnd = new CounterList('byEnd');
  /** Those that deny nobody yet, in the same order. */
  private readonly below = new CounterList('below');

  add(counter: Counter): void {
    this.size++;
    this.byEnd.push(counter);
    this.below.push(counter);
  }

  remove(counter: Counter): void {
    this.size--;
    this.byEnd.remove(counter);
    this.below.remove(counter);
  }

  /** Notes that a counter denies its caller, or has come to where it will. */
  markAtLimit(counter: Counter): void {
    this.below.remove(counter);
  }

  /** The one to part with: the soonest to end of those below their limit, else of all. */
  get evictionCandidate(): Counter | undefined {
    return this.below.first ?? this.byEnd.first;
  }
}
