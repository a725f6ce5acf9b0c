// taken at load time, so that a test's fake timers cannot keep the caches
const { queueMicrotask } = globalThis;

/**
 * Remembers the results of a function by its argument, until a microtask clears them. Planning reads the methods and the
 * metadata of one class many times before that. Later they may have changed.
 */
export function cachedInTurn<K, V>(read: (key: K) => V): (key: K) => V {
  const recent = new Map<K, V>();
  return (key) => {
    const known = recent.get(key);
    if (known !== undefined) return known;
    const value = read(key);
    if (recent.size === 0) {
      queueMicrotask(() => {
        recent.clear();
      });
    }
    recent.set(key, value);
    return value;
  };
}
