import type { Check } from '../../../../src/core/check.js';
import { five, make } from './fallback-store.fixtures.js';

describe('the share of a limit', () => {
  it.each<[share: number, limit: number, cost: number, shareOfLimit: number]>([
    [1, 10, 1, 10],
    [0.25, 100, 1, 25],
    [0.5, 5, 1, 2],
    [0.25, 10, 1, 2],
    [0.999, 10, 1, 9],
    [0.1, 5, 1, 1],
    [0.001, 1, 1, 1],
    [Number.MIN_VALUE, Number.MAX_SAFE_INTEGER, 1, 1],
    [0.5, Number.MAX_SAFE_INTEGER, 1, 4_503_599_627_370_495],
    // a request within the limit must be able to pass
    [0.25, 10, 5, 5],
    [0.25, 10, 10, 10],
    [0.25, 100, 20, 25],
    // a request above the limit never passes
    [0.25, 10, 11, 10],
    // a check with cost 0 sees the share that applies to a request
    [0.25, 10, 0, 2],
    [0.1, 5, 0, 1],
    [0.25, 0, 1, 0],
    [0.25, 0, 0, 0],
    [0.25, Infinity, 1, Infinity],
    [0.25, Infinity, 7, Infinity],
  ])('of %d of %d for a cost of %d is %d', async (share, limit, cost, shareOfLimit) => {
    const { consume, peek, goDown } = make(share);
    goDown();
    const parts = { limit, cost };
    const [result] = await consume(five('a', 'memory', parts));
    expect(result!.limit).toBe(shareOfLimit);
    expect(result!.allowed).toBe(cost <= limit);
    expect(result!.used).toBe(cost <= limit ? cost : 0);
    expect(result!.remaining).toBe(shareOfLimit - result!.used);
    expect((await peek(five('b', 'memory', parts)))[0]!.limit).toBe(shareOfLimit);
  });

  it('allows exactly this many requests', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    let passed = 0;
    for (let i = 0; i < 100; i++) {
      if ((await consume(five('a', 'memory', { limit: 40 })))[0]!.allowed) passed++;
    }
    expect(passed).toBe(10);
  });

  it('allows one request that costs more than the share, not two', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    const costly = five('a', 'memory', { limit: 10, cost: 6 });
    expect((await consume(costly))[0]!.allowed).toBe(true);
    expect((await consume(costly))[0]!.allowed).toBe(false);
    expect((await consume({ ...costly, cost: 1 }))[0]!.allowed).toBe(false);
  });

  it('does not change the check', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    const given = Object.freeze(five('a', 'memory', { limit: 100 }));
    await consume(given);
    expect(given.limit).toBe(100);
  });
});

describe('the share of a token bucket', () => {
  const bucket = (limit: number, burst: number, parts: Partial<Check> = {}): Check =>
    five('a', 'memory', { kind: { type: 'token-bucket', burst }, limit, ...parts });

  it.each<[share: number, limit: number, burst: number, cost: number, shareOfLimit: number, room: number]>([
    [1, 100, 40, 1, 100, 40],
    [0.25, 100, 40, 1, 25, 10],
    [0.1, 5, 5, 1, 1, 1],
    // a bucket has room for the cost, and refills no faster for it
    [0.25, 100, 40, 20, 25, 20],
    [0.25, 8, 40, 40, 2, 40],
    [0.25, 100, 40, 0, 25, 10],
    [0.25, 0, 0, 1, 0, 0],
    [0.25, 100, Infinity, 1, 25, Infinity],
    [0.25, Infinity, 40, 1, Infinity, 10],
  ])(
    'of %d, with a refill of %d and a burst of %d, for a cost of %d',
    async (share, limit, burst, cost, ...expected) => {
      const { consume, peek, goDown } = make(share);
      goDown();
      const one = bucket(limit, burst, { cost });
      const [free] = await peek({ ...one, text: 'fresh' });
      expect([free!.limit, free!.remaining]).toEqual(expected);
      expect((await consume(one))[0]!.allowed).toBe(cost <= burst);
    },
  );

  it('is what this process allows at once', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    let passed = 0;
    for (let i = 0; i < 100; i++) if ((await consume(bucket(4, 40)))[0]!.allowed) passed++;
    expect(passed).toBe(10);
  });
});

describe.each([
  ['a sliding window', { kind: { type: 'sliding-window' } }],
  [
    'a calendar',
    {
      kind: {
        type: 'calendar',
        startsAtMs: 0,
        endsAtMs: 2 ** 50,
        nextEndsAtMs: 2 ** 51,
      },
    },
  ],
  ['a fixed window with a block', { block: { stepsMs: [1_000], forgiveAfterMs: 1 } }],
] as const)('the share of %s', (_, parts) => {
  it('is what this process allows', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    let passed = 0;
    for (let i = 0; i < 100; i++) {
      if ((await consume(five('a', 'memory', { limit: 40, ...parts })))[0]!.allowed) passed++;
    }
    expect(passed).toBe(10);
  });
});
