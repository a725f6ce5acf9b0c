import fc from 'fast-check';
import { capacityOf, type CounterKind } from '../../../../src/core/counter-kind.js';
import {
  type CountedCheck,
  type Counter,
  expiresAtMs,
  isBlocked,
  newCounter,
  stateAt,
} from '../../../../src/core/counters/counter.js';
import { decide, type Decision, peek } from '../../../../src/core/counters/decide.js';

// retryAfterMs and resetAfterMs are exact: they are right after this many milliseconds, and wrong a millisecond earlier.

const RUNS = Number(process.env['WAIT_RUNS'] ?? 2_000);
const MAX = Number.MAX_SAFE_INTEGER;
const START = 1_760_000_000_000;
const YEAR = 31_536_000_000;

const kinds = fc.oneof(
  fc.constant<CounterKind>({ type: 'fixed-window' }),
  fc.constant<CounterKind>({
    type: 'calendar',
    startsAtMs: START - 3,
    endsAtMs: START + 500,
    nextEndsAtMs: START + 1_700,
  }),
  fc.constant<CounterKind>({ type: 'sliding-window' }),
  fc
    .oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom(100_000, 10_000_000_000, MAX))
    .map((burst): CounterKind => ({ type: 'token-bucket', burst })),
);

const histories = fc.record({
  kind: kinds,
  windowMs: fc.oneof(
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 3_000 }),
    fc.constantFrom(86_400_000, YEAR, YEAR + 1),
  ),
  limit: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom(1_000_003, 10_000_000_000, MAX)),
  blockFor: fc.option(fc.constantFrom(1, 30, 5_000), { freq: 3 }),
  steps: fc.array(
    fc.record({
      afterMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: 50 }),
        fc.integer({ min: 0, max: 2_000 }),
        fc.constant(1_000_000_007),
      ),
      share: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1.1, noNaN: true })),
      countDenied: fc.boolean(),
    }),
    { minLength: 1, maxLength: 30 },
  ),
});

/** The state of a counter at a time. */
function isNew(counter: Counter, check: CountedCheck, nowMs: number): boolean {
  const copy = structuredClone(counter);
  return !isBlocked(copy, nowMs) && stateAt(copy, check, nowMs) === undefined;
}

function expectExact(decision: Decision, counter: Counter, check: CountedCheck, nowMs: number): void {
  const { allowed, retryAfterMs, resetAfterMs, used } = decision;
  // the last millisecond of a fixed window belongs to it
  const last = check.kind.type === 'fixed-window' && used > 0 && !isBlocked(counter, nowMs) ? 1 : 0;
  expect(isNew(counter, check, nowMs + resetAfterMs + last)).toBe(true);
  const isNewBefore = resetAfterMs > 0 && isNew(counter, check, nowMs + resetAfterMs + last - 1);
  expect(isNewBefore).toBe(false);
  expect(retryAfterMs > 0).toBe(!allowed);
  if (allowed) return;
  const later = peek(check, structuredClone(counter), nowMs + retryAfterMs);
  expect(later.allowed).toBe(check.cost <= capacityOf(check));
  expect(peek(check, structuredClone(counter), nowMs + retryAfterMs - 1).allowed).toBe(false);
}

describe('the waits of a counter', () => {
  it('are exact', () => {
    fc.assert(
      fc.property(histories, ({ kind, windowMs, limit, blockFor, steps }) => {
        const counter = newCounter();
        const block = blockFor === null ? undefined : { stepsMs: [blockFor], forgiveAfterMs: 1 };
        let nowMs = START;
        for (const { afterMs, share, countDenied } of steps) {
          nowMs += afterMs;
          const capacity = capacityOf({ kind, limit });
          const cost = Math.min(Math.ceil(share * capacity), MAX);
          const check = { kind, windowMs, limit, cost, countDenied, shadow: false, block };
          const [decision] = decide([check], [counter], nowMs);
          // beyond that, the waits are not exact
          if (decision!.resetAfterMs > 1_000 * YEAR) return;
          expectExact(decision!, counter, check, nowMs);
          const expires = expiresAtMs(counter, check, nowMs);
          expect(isNew(counter, check, expires)).toBe(true);
          expect(expires > nowMs && isNew(counter, check, expires - 1)).toBe(false);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it.each<[string, CounterKind, windowMs: number, wait: number]>([
    ['a fixed window', { type: 'fixed-window' }, 1_000, 1_001],
    ['a fixed window of a millisecond', { type: 'fixed-window' }, 1, 2],
    ['a sliding window', { type: 'sliding-window' }, 1_600, 1_700],
    ['a sliding window of a millisecond', { type: 'sliding-window' }, 1, 2],
    ['a sliding window of 15 ms', { type: 'sliding-window' }, 15, 16],
    ['a token bucket', { type: 'token-bucket', burst: 1 }, 1_000, 500],
    ['a token bucket of a millisecond', { type: 'token-bucket', burst: 1 }, 1, 1],
  ])('lets the next request of %s pass after %s', (_, kind, windowMs, wait) => {
    const limit = kind.type === 'token-bucket' ? 2 : 1;
    const check = { kind, windowMs, limit, cost: 1, countDenied: false, shadow: false, block: undefined };
    const counter = newCounter();
    expect(decide([check], [counter], START)[0]?.allowed).toBe(true);
    expect(decide([check], [counter], START)[0]?.retryAfterMs).toBe(wait);
  });
});
