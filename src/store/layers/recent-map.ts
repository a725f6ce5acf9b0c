import { CounterMap, type CounterName } from '../../core/counter-map.js';

/**
 * A map from counters to recent entries, bounded in size and age. Instead of a timer or a queue it has two halves, and drops
 * the older one as a whole. An entry is kept for `maxAgeMs` to twice as long, or shorter if there are many new entries.
 */
export class RecentMap<V> {
  private young = new CounterMap<V>();
  private old = new CounterMap<V>();
  private bornAtMs = -Infinity;

  constructor(
    private readonly maxAgeMs: number,
    /** Maximum number of entries in each half. */
    private readonly maxEntries = 10_000,
  ) {}

  get size(): number {
    return this.young.size + this.old.size;
  }

  get(counter: CounterName): V | undefined {
    return this.young.get(counter) ?? this.old.get(counter);
  }

  set(counter: CounterName, value: V, nowMs: number): void {
    if (nowMs - this.bornAtMs > this.maxAgeMs || this.young.size >= this.maxEntries) {
      this.old = this.young;
      this.young = new CounterMap();
      this.bornAtMs = nowMs;
    }
    this.young.set(counter, value);
  }

  delete(counter: CounterName): void {
    this.young.delete(counter);
    this.old.delete(counter);
  }

  clear(): void {
    this.young = new CounterMap();
    this.old = new CounterMap();
  }
}
