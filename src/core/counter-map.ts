import type { Check } from './check.js';

/** What tells one counter from all others. */
export type CounterName = Pick<Check, 'group' | 'text'>;

/** A map by counter. It has two levels: the hash of each of the two strings is known, that of a key would be computed. */
export class CounterMap<V> {
  /** The number of entries. */
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
