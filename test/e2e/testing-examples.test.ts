import { manyQuotes, threeQuotesPerMinute } from '../../examples/testing/quotes.tests.js';

describe('the tests of the example application', () => {
  it('see its limit without a Redis', async () => {
    await expect(threeQuotesPerMinute()).resolves.toBeUndefined();
  });

  it('can disable limits', async () => {
    await expect(manyQuotes()).resolves.toBeUndefined();
  });
});
