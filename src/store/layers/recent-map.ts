import type { Check } from '../../core/check.js';

/** The counter of a check. */
type CounterName = Pick<Check, 'group' | 'text'>;

/**
 * A map from counters to recent entries, bounded in size and age. Instead of a timer or a queue it has two halves, and drops
 * the older one as a whole. An entry is kept for `maxAgeMs` to twice as long, or shorter if there are many new entries.
 */
export class RecentMap<V> {
  private young = new Half<V>();
  private old = new Half<V>();
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
      this.young = new Half();
      this.bornAtMs = nowMs;
    }
    this.young.set(counter, value);
  }

  delete(counter: CounterName): void {
    this.young.delete(counter);
    this.old.delete(counter);
  }

  clear(): void {
    this.young = new Half();
    this.old = new Half();
  }
}

class Half<V> {
  size = 0;
  private readonly groups = new Map<string, Map<string, V>>();

  get({ group, text }: CounterName): V | undefined {
    return this.groups.get(group)?.get(text);
  }

  set({ group, text }: CounterName, value: V): void {
    let entries = this.groups.get(group);
    if (entries === undefined) {
      entries = new Map();
      this.groups.set(group, entries);
    }
    const before = entries.size;
    entries.set(text, value);
    this.size += entries.size - before;
  }

  delete({ group, text }: CounterName): void {
    const entries = this.groups.get(group);
    if (entries?.delete(text) !== true) return;
    this.size--;
    if (entries.size === 0) this.groups.delete(group);
  }
}
