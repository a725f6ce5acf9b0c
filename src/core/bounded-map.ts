/** A map with a maximum size. A new entry removes the oldest one if the map is full. */
export class BoundedMap<K, V> {
  private readonly entries = new Map<K, V>();

  constructor(private readonly maxEntries: number) {}

  get(key: K): V | undefined {
    return this.entries.get(key);
  }

  /** Adds an entry, and returns its value. */
  add(key: K, value: V): V {
    if (this.entries.size >= this.maxEntries) {
      const [oldest] = this.entries.keys();
      this.entries.delete(oldest as K);
    }
    this.entries.set(key, value);
    return value;
  }
}
