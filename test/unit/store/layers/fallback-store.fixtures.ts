import type { Check, CheckResult, OnStoreError } from '../../../../src/core/check.js';
import { FreqLimitError } from '../../../../src/core/errors.js';
import { FallbackStore } from '../../../../src/store/layers/fallback-store.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { type Store, withHooks } from '../../../../src/core/store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';

export const DOWN = new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'Redis did not answer: down');

/** A store that counts in memory until it goes down, and its fallback. */
export function make(share = 1) {
  const nowMs = 1_000_000;
  const inner = new MemoryStore(1_000, quiet, () => nowMs);
  const fallback = new MemoryStore(1_000, quiet, () => nowMs, 'memory');
  let isDown = false;
  const calls: string[] = [];
  const orFail =
    <A extends unknown[], R>(name: string, call: (...args: A) => R) =>
    async (...args: A): Promise<R> => {
      calls.push(name);
      if (isDown) throw DOWN;
      return call(...args);
    };
  const store: Store = {
    place: 'a test',
    consume: (checks, settleable, _, hooks) => {
      const results = orFail('consume', () => inner.consume(checks, settleable));
      return withHooks(results(), hooks);
    },
    peek: orFail('peek', (checks: readonly Check[]) => inner.peek(checks)),
    settle: orFail(
      'settle',
      (checks: readonly Check[], results: readonly CheckResult[], costs: readonly number[]) =>
        inner.settle(checks, results, costs),
    ),
    renew: (checks) => {
      calls.push('renew');
      return Promise.resolve(isDown ? checks.map(() => undefined) : inner.renew(checks));
    },
    reset: orFail('reset', (checks: readonly Check[]) => inner.reset(checks)),
    health: () => ({ store: 'redis', isUp: !isDown, reason: isDown ? 'down' : undefined, since: undefined }),
    open: orFail('open', () => undefined),
    close: orFail('close', () => undefined),
  };
  const guarded = new FallbackStore(store, fallback, share);
  return {
    guarded,
    inner,
    fallback,
    calls,
    goDown: () => void (isDown = true),
    comeBack: () => void (isDown = false),
    consume: async (...checks: Check[]): Promise<CheckResult[]> => guarded.consume(checks),
    peek: async (...checks: Check[]): Promise<CheckResult[]> => guarded.peek(checks),
  };
}

export const five = (key: string, onStoreError: OnStoreError = 'memory', parts: Partial<Check> = {}): Check =>
  check(key, { limit: 5, ...parts, onStoreError });
export const brief = (results: readonly CheckResult[]): unknown[] =>
  results.map(({ name, allowed, used, source }) => [name, allowed, used, source]);
