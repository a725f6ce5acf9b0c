import { asManyQuotesAsATestNeeds, threeQuotesAMinute } from '../../examples/testing/quotes.tests.js';

describe('the tests of the example application', () => {
  it('see its limit without a Redis', async () => {
    await expect(threeQuotesAMinute()).resolves.toBeUndefined();
  });

  it('do without limits', async () => {
    await expect(asManyQuotesAsATestNeeds()).resolves.toBeUndefined();
  });
});
