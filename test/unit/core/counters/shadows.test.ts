import fc from 'fast-check';
import type { CounterKind } from '../../../../src/core/counter-kind.js';
import { type CountedCheck, newCounter } from '../../../../src/core/counters/counter.js';
import { decide } from '../../../../src/core/counters/decide.js';

const START = 1_760_000_000_000;
const KINDS: CounterKind[] = [
  { type: 'calendar', startsAtMs: START - 10, endsAtMs: START + 1_000, nextEndsAtMs: START + 2_000 },
  { type: 'sliding-window' },
  { type: 'token-bucket', burst: 7 },
];

const requests = fc.array(
  fc.record({
    waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
    cost: fc.integer({ min: 0, max: 6 }),
  }),
  { minLength: 1, maxLength: 40 },
);

describe.each(KINDS.map((kind) => [kind.type, kind] as const))('a shadow rule of kind %s', (_, kind) => {
  it('says what a real one says to the same requests, and denies none', () => {
    fc.assert(
      fc.property(requests, fc.integer({ min: 0, max: 5 }), fc.boolean(), (history, limit, countDenied) => {
        const [real, tried, other] = [newCounter(), newCounter(), newCounter()];
        let nowMs = START;
        let passed = 0;
        for (const { waitMs, cost } of history) {
          nowMs += waitMs;
          const check: CountedCheck = {
            ...{ kind, windowMs: 1_000, limit, cost, countDenied },
            ...{ shadow: false, block: undefined },
          };
          const [expected] = decide([check], [real], nowMs);
          const counting: CountedCheck = {
            ...check,
            kind: { type: 'fixed-window' },
            limit: Infinity,
            cost: 1,
          };
          const [said, charged] = decide(
            [
              { ...check, shadow: true },
              { ...counting, windowMs: 1e9 },
            ],
            [tried, other],
            nowMs,
          );
          expect(said).toEqual(expected);
          expect(charged).toMatchObject({ allowed: true, used: ++passed });
        }
      }),
    );
  });

  it('is not charged if another rule denies the request', () => {
    const [tried, other] = [newCounter(), newCounter()];
    const check: CountedCheck = {
      ...{ kind, windowMs: 1_000, limit: 2, cost: 1, countDenied: false },
      ...{ shadow: true, block: undefined },
    };
    const shut: CountedCheck = { ...check, shadow: false, limit: 0, kind: { type: 'fixed-window' } };
    for (let i = 0; i < 3; i++) {
      expect(decide([check, shut], [tried, other], START)[0]).toMatchObject({ allowed: true, used: 0 });
    }
  });
});
