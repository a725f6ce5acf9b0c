import type { CounterKind } from '../../../../src/core/counter-kind.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';
import { refundAll } from '../../../support/refund-all.js';

const NOW = 1_760_000_000_000;
const CALENDAR: CounterKind = {
  type: 'calendar',
  startsAtMs: NOW - 1_000,
  endsAtMs: NOW + 60_000,
  nextEndsAtMs: NOW + 120_000,
};

it.each([-1, 0, 1])('refunds a calendar if its two clocks have drifted by %i ms', (driftMs) => {
  let [nowMs, dayMs] = [500, NOW];
  const store = new MemoryStore(
    100,
    quiet,
    () => nowMs,
    'store',
    () => dayMs,
  );
  const one = check('a', { kind: CALENDAR, limit: 3 });
  const results = store.consume([one], true);
  [nowMs, dayMs] = [nowMs + 10, dayMs + 10 + driftMs];
  expect(refundAll(store, [one], results)[0]).toMatchObject({ allowed: true, used: 0, remaining: 3 });
  expect(store.size).toBe(0);
});
