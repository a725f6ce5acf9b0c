/**
 * A map of recent entries, bounded in size and age. Instead of a timer or a queue it has two halves, and drops the older
 * one as a whole. An entry is kept for `maxAgeMs` to twice as long, or shorter if there are many new entries.
 */
export class RecentMap<V> {
  private young = new Map<string, V>();
  private old = new Map<string, V>();
  private bornAtMs = -Infinity;

  constructor(
    private readonly maxAgeMs: number,
    /** Maximum number of entries in each half. */
    private readonly maxEntries = 10_000,
  ) {}

  get size(): number {
    return this.young.size + this.old.size;
  }

  get(key: string): V | undefined {
    return this.young.get(key) ?? this.old.get(key);
  }

  set(key: string, value: V, nowMs: number): void {
    if (nowMs - this.bornAtMs > this.maxAgeMs || this.young.size >= this.maxEntries) {
      this.old = this.young;
      this.young = new Map();
      this.bornAtMs = nowMs;
    }
    this.young.set(key, value);
  }

  delete(key: string): void {
    this.young.delete(key);
    this.old.delete(key);
  }

  clear(): void {
    this.young.clear();
    this.old.clear();
  }
}
