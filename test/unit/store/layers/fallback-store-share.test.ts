import { five, make } from './fallback-store.fixtures.js';

describe('the share of a limit', () => {
  it.each<[share: number, limit: number, cost: number, limitThen: number]>([
    [1, 10, 1, 10],
    [0.25, 100, 1, 25],
    [0.5, 5, 1, 2],
    [0.25, 10, 1, 2],
    [0.999, 10, 1, 9],
    [0.1, 5, 1, 1],
    [0.001, 1, 1, 1],
    [Number.MIN_VALUE, Number.MAX_SAFE_INTEGER, 1, 1],
    [0.5, Number.MAX_SAFE_INTEGER, 1, 4_503_599_627_370_495],
    // a visit within its limit must be able to pass
    [0.25, 10, 5, 5],
    [0.25, 10, 10, 10],
    [0.25, 100, 20, 25],
    // one above it passes never
    [0.25, 10, 11, 10],
    // a look asks for nothing, and sees what a visit would meet
    [0.25, 10, 0, 2],
    [0.1, 5, 0, 1],
    [0.25, 0, 1, 0],
    [0.25, 0, 0, 0],
    [0.25, Infinity, 1, Infinity],
    [0.25, Infinity, 7, Infinity],
  ])('of %d of %d for a cost of %d is %d', async (share, limit, cost, limitThen) => {
    const { consume, peek, goDown } = make(share);
    goDown();
    const parts = { limit, cost };
    const [result] = await consume(five('a', 'memory', parts));
    expect(result!.limit).toBe(limitThen);
    expect(result!.allowed).toBe(cost <= limit);
    expect(result!.used).toBe(cost <= limit ? cost : 0);
    expect(result!.remaining).toBe(limitThen - result!.used);
    expect((await peek(five('b', 'memory', parts)))[0]!.limit).toBe(limitThen);
  });

  it('lets so many pass, and no more', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    let passed = 0;
    for (let i = 0; i < 100; i++) {
      if ((await consume(five('a', 'memory', { limit: 40 })))[0]!.allowed) passed++;
    }
    expect(passed).toBe(10);
  });

  it('lets one dear visit pass in a window, not two', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    const dear = five('a', 'memory', { limit: 10, cost: 6 });
    expect((await consume(dear))[0]!.allowed).toBe(true);
    expect((await consume(dear))[0]!.allowed).toBe(false);
    expect((await consume({ ...dear, cost: 1 }))[0]!.allowed).toBe(false);
  });

  it('does not touch the check it was asked', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    const asked = Object.freeze(five('a', 'memory', { limit: 100 }));
    await consume(asked);
    expect(asked.limit).toBe(100);
  });
});
