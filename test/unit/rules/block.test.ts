import fc from 'fast-check';
import { blockOf } from '../../../src/rules/block.js';

const DAY = 86_400_000;

describe('forgiveAfter by default', () => {
  it.each([
    [[900_000], DAY],
    [[60_000, 600_000, 3_600_000], DAY],
    [[900_000, 3_600_000, DAY], 10 * DAY],
    [[Number.MAX_SAFE_INTEGER], Number.MAX_SAFE_INTEGER],
  ])('is 10 times the last length, and at least a day: %j', (stepsMs, forgiveAfterMs) => {
    expect(blockOf(stepsMs, undefined)).toEqual({ stepsMs, forgiveAfterMs });
  });

  it('does not give a client that waits for it more blocks in the same time than one that goes on', () => {
    const ladders = fc.array(fc.integer({ min: 1, max: 30 * DAY }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(ladders, (lengths) => {
        const stepsMs = lengths.sort((a, b) => a - b);
        const lastMs = stepsMs.at(-1)!;
        let spentMs = blockOf(stepsMs, undefined)!.forgiveAfterMs;
        stepsMs.forEach((step, i) => {
          spentMs += step;
          expect((i + 1) * lastMs).toBeLessThanOrEqual(spentMs);
        });
      }),
    );
  });
});
