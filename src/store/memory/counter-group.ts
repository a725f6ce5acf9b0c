import type { Counter as Counted } from '../../core/counters/counter.js';

/** The neighbours of a counter in one list. */
interface Link {
  previous: Counter | undefined;
  next: Counter | undefined;
}

type LinkName = 'byExpiry' | 'underLimit';

/** A counter of the memory store, its group, and its links in the lists of the group. */
export interface Counter {
  /** The part of its key after the group's. */
  readonly text: string;
  /** By the store's clock; in this millisecond it still counts. */
  endsAtMs: number;
  /** Units of a fixed window. */
  used: number;
  /** Its content, if it is not a fixed window, or if it blocks or remembers blocks. */
  mixed: Counted | undefined;
  readonly group: CounterGroup;
  byExpiry: Link | undefined;
  underLimit: Link | undefined;
}

/**
 * A queue that any counter can leave, as a linked list, so that each step takes the same short time.
 *
 * Not a `Set`: it keeps a hole for each deleted entry until it is rebuilt, and to find its first entry it skips all holes at
 * the front. Removing the first 70,000 of 100,000 counters one by one takes 1.6 s that way.
 */
class CounterList {
  first: Counter | undefined;
  private last: Counter | undefined;

  /** A counter can be in several lists, in each by a different link. */
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

/** The counters of one rule in one window. They expire in the order in which they were opened, or about in that of their last charge. */
export class CounterGroup {
  /** Whether its counters count leases. */
  holdsLeases = false;
  private readonly byText = new Map<string, Counter>();
  /** All counters, the next to expire first. */
  readonly byExpiry = new CounterList('byExpiry');
  /** The counters that do not deny yet, in the same order. */
  private readonly underLimit = new CounterList('underLimit');

  get size(): number {
    return this.byText.size;
  }

  /** The counter with this text, expired or not. */
  get(text: string): Counter | undefined {
    return this.byText.get(text);
  }

  /** Adds a counter; its text must be new. */
  add(counter: Counter): void {
    this.byText.set(counter.text, counter);
    this.byExpiry.push(counter);
    this.underLimit.push(counter);
  }

  /** Returns whether the counter was in the group. */
  remove(counter: Counter): boolean {
    if (this.byText.get(counter.text) !== counter) return false;
    this.byText.delete(counter.text);
    this.byExpiry.remove(counter);
    this.underLimit.remove(counter);
    return true;
  }

  /** Moves a counter that was charged to the end: it expires later now. */
  requeue(counter: Counter, isAtLimit: boolean): void {
    this.byExpiry.remove(counter);
    this.byExpiry.push(counter);
    this.underLimit.remove(counter);
    if (!isAtLimit) this.underLimit.push(counter);
  }

  /** Marks a counter that denies requests, or will deny the next one. */
  markAtLimit(counter: Counter): void {
    this.underLimit.remove(counter);
  }

  /** The counter to drop if there is no room: the next to expire of those under their limit, else of all. */
  get evictionCandidate(): Counter | undefined {
    return this.underLimit.first ?? this.byExpiry.first;
  }
}
