import type { Check } from '../../src/core/check.js';
import { FIXED_WINDOW } from '../../src/core/counter-kind.js';

/** A check as the stores get it, one a minute by default. The key contains its window, like every key in a store. */
export function check(key: string, parts: Partial<Omit<Check, 'key'>> = {}): Check {
  const {
    windowMs = 60_000,
    kind = FIXED_WINDOW,
    block,
    limit = 1,
    cost = 1,
    countDenied = false,
    shadow = false,
    name = key,
    onStoreError = 'memory',
    lease,
  } = parts;
  return {
    key,
    group: parts.group ?? String(windowMs),
    text: parts.text ?? key,
    name,
    windowMs,
    kind,
    limit,
    cost,
    block,
    countDenied,
    shadow,
    onStoreError,
    ...(lease !== undefined && { lease }),
  };
}
