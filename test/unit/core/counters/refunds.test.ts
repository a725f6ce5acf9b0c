import fc from 'fast-check';
import type { CounterKind } from '../../../../src/core/counter-kind.js';
import { type CountedCheck, newCounter } from '../../../../src/core/counters/counter.js';
import { decide, peek, settle } from '../../../../src/core/counters/decide.js';

const START = 1_760_000_000_000;
const WINDOW_MS = 160;
const WINDOWS: CounterKind[] = [
  { type: 'fixed-window' },
  { type: 'calendar', startsAtMs: START - 10, endsAtMs: START + 150, nextEndsAtMs: START + 310 },
  { type: 'sliding-window' },
];
const BUCKET: CounterKind = { type: 'token-bucket', burst: 10 };

function checkOf(kind: CounterKind, cost = 1): CountedCheck {
  return {
    kind,
    windowMs: WINDOW_MS,
    limit: 10,
    cost,
    countDenied: false,
    shadow: false,
    block: undefined,
  };
}

const charges = fc.array(
  fc.record({ afterMs: fc.integer({ min: 0, max: 12 }), cost: fc.integer({ min: 1, max: 2 }) }),
  { minLength: 1, maxLength: 20 },
);

describe.each([...WINDOWS, BUCKET].map((kind) => [kind.type, kind] as const))(
  'a refund of a %s',
  (_, kind) => {
    it('of all that was charged at once leaves nothing', () => {
      const counter = newCounter();
      const check = checkOf(kind);
      const tokens = [1, 2, 3].map(() => decide([check], [counter], START)[0]!.token!);
      expect(tokens.map((token) => settle(check, counter, { token, cost: 0 }, START).used)).toEqual([
        2, 1, 0,
      ]);
      expect(counter.state).toBeUndefined();
      expect(peek(check, counter, START)).toMatchObject({ used: 0, resetAfterMs: 0 });
    });

    it('never leaves less than nothing, and creates no counter', () => {
      const counter = newCounter();
      const { token } = decide([checkOf(kind, 3)], [counter], START)[0]!;
      expect(settle(checkOf(kind, 9), counter, { token: token!, cost: 0 }, START).used).toBe(0);
      expect(settle(checkOf(kind, 9), counter, { token: token!, cost: 0 }, START)).toMatchObject({
        used: 0,
        resetAfterMs: 0,
      });
      expect(counter).toEqual(newCounter());
    });

    it('gives nothing back once the charge counts no more', () => {
      const counter = newCounter();
      const check = checkOf(kind, 4);
      const { token } = decide([check], [counter], START)[0]!;
      const laterMs = START + 2 * WINDOW_MS;
      expect(decide([check], [counter], laterMs)[0]!.used).toBe(4);
      expect(settle(check, counter, { token: token!, cost: 0 }, laterMs).used).toBe(4);
    });

    it('has no token for what charged nothing, or not its whole cost', () => {
      const counter = newCounter();
      const results = [checkOf(kind, 0), checkOf(kind, 11), { ...checkOf(kind, 9), countDenied: true }].map(
        (check) => decide([check], [counter], START)[0]!.token,
      );
      expect(results).toEqual([undefined, undefined, expect.any(Number)]);
      const over = { ...checkOf(kind, 3), countDenied: true };
      const [denied] = decide([over], [counter], START);
      // a denied charge only empties a bucket
      expect(denied!.token === undefined).toBe(kind.type === 'token-bucket');
      expect(denied!.used).toBe(kind.type === 'token-bucket' ? 10 : 12);
    });
  },
);

describe.each(WINDOWS.map((kind) => [kind.type, kind] as const))('a refund of a %s', (_, kind) => {
  it('leaves what the other charges would have left', () => {
    fc.assert(
      fc.property(charges, fc.nat(), fc.integer({ min: 0, max: 200 }), (history, which, laterMs) => {
        const [counter, without] = [newCounter(), newCounter()];
        const refunded = which % history.length;
        let [nowMs, token] = [START, undefined as number | undefined];
        history.forEach(({ afterMs, cost }, i) => {
          nowMs += afterMs;
          const check = { ...checkOf(kind, cost), limit: Infinity };
          const [decision] = decide([check], [counter], nowMs);
          if (i === refunded) token = decision!.token;
          else decide([check], [without], nowMs);
        });
        nowMs += laterMs;
        const check = checkOf(kind, history[refunded]!.cost);
        const left = settle(check, counter, { token: token!, cost: 0 }, nowMs);
        const expected = peek(check, without, nowMs);
        // the window of the other one may have opened later
        const isFirst = kind.type === 'fixed-window';
        fc.pre(!isFirst || (refunded > 0 && nowMs - START <= WINDOW_MS));
        expect([left.used, left.resetAfterMs]).toEqual([expected.used, expected.resetAfterMs]);
      }),
      { numRuns: 2_000 },
    );
  });
});

it('refunds only the sub-window of a sliding window that was charged', () => {
  const kind: CounterKind = { type: 'sliding-window' };
  const counter = newCounter();
  const { token } = decide([checkOf(kind, 2)], [counter], START)[0]!;
  decide([checkOf(kind, 3)], [counter], START + 10);
  expect(settle(checkOf(kind, 9), counter, { token: token!, cost: 0 }, START + 20).used).toBe(3);
});

describe('a refund of a token bucket', () => {
  it('gives back what has not flowed in since the charge', () => {
    const counter = newCounter();
    const check = checkOf(BUCKET, 4);
    const { token } = decide([check], [counter], START)[0]!;
    decide([checkOf(BUCKET, 6)], [counter], START);
    // 16 ms for each unit: 2.5 units
    expect(peek(check, counter, START + 40).used).toBe(8);
    expect(settle(check, counter, { token: token!, cost: 0 }, START + 40)).toMatchObject({
      used: 6,
      resetAfterMs: 96,
    });
  });

  it('never leaves less than the other charges would have left', () => {
    fc.assert(
      fc.property(charges, fc.nat(), fc.integer({ min: 0, max: 200 }), (history, which, laterMs) => {
        const [counter, without] = [newCounter(), newCounter()];
        const refunded = which % history.length;
        let [nowMs, token] = [START, undefined as number | undefined];
        history.forEach(({ afterMs, cost }, i) => {
          nowMs += afterMs;
          const check = checkOf({ ...BUCKET, burst: Infinity }, cost);
          const [decision] = decide([check], [counter], nowMs);
          if (i === refunded) token = decision!.token;
          else decide([check], [without], nowMs);
        });
        nowMs += laterMs;
        const check = checkOf(BUCKET, history[refunded]!.cost);
        const { resetAfterMs } = settle(check, counter, { token: token!, cost: 0 }, nowMs);
        expect(resetAfterMs).toBeGreaterThanOrEqual(peek(check, without, nowMs).resetAfterMs);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a token bucket', () => {
  it('counts exactly, whatever its numbers', () => {
    const numbers = fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 2 ** 41 }));
    const steps = fc.array(
      fc.record({ afterMs: fc.nat(40_000_000), cost: fc.double({ min: 0, max: 1, noNaN: true }) }),
    );
    fc.assert(
      fc.property(numbers, numbers, numbers, steps, (windowMs, limit, burst, history) => {
        const counter = newCounter();
        const [window, flow] = [BigInt(windowMs), BigInt(limit)];
        let [nowMs, level] = [START, 0n];
        for (const { afterMs, cost } of history) {
          nowMs += afterMs;
          level -= BigInt(afterMs) * flow;
          if (level < 0n) level = 0n;
          const units = Math.ceil((cost * burst) / 2);
          const check = {
            ...checkOf({ type: 'token-bucket', burst }, units),
            windowMs,
            limit,
          };
          const [decision] = decide([check], [counter], nowMs);
          const after = level + BigInt(units) * window;
          expect(decision!.allowed).toBe(after <= BigInt(burst) * window);
          if (decision!.allowed) level = after;
          expect(BigInt(decision!.used)).toBe((level + window - 1n) / window);
          const resetAfterMs = (level + flow - 1n) / flow;
          expect(BigInt(decision!.resetAfterMs)).toBe(
            resetAfterMs < 2n ** 42n ? resetAfterMs : BigInt(decision!.resetAfterMs),
          );
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
