/** A counter of the memory store, and its neighbours in the list it is in. */
export interface Counter {
  readonly key: string;
  /** By the store's clock; the counter lives through this millisecond. */
  readonly endsAtMs: number;
  used: number;
  list: CounterList | undefined;
  previous: Counter | undefined;
  next: Counter | undefined;
}

/** A queue of counters that any of them can leave. All of its steps take the same short time, however long it is. */
export class CounterList {
  first: Counter | undefined;
  private last: Counter | undefined;

  push(counter: Counter): void {
    counter.list = this;
    counter.previous = this.last;
    if (this.last === undefined) this.first = counter;
    else this.last.next = counter;
    this.last = counter;
  }

  remove(counter: Counter): void {
    const { previous, next } = counter;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    counter.list = counter.previous = counter.next = undefined;
  }
}
