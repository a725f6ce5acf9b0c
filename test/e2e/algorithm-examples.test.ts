import { ShopController } from '../../examples/options/algorithms.js';
import { FreqLimitModule } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { closeApps, serve } from '../support/app.js';
import { post } from '../support/http.js';

afterEach(closeApps);

const DAY = 86_400;

it('the examples of algorithms, calendars and blocks start, and say their windows in headers', async () => {
  const metadata = { imports: [FreqLimitModule.forRoot({ redis: false })], controllers: [ShopController] };
  const { url } = await serve('express', metadata, (builder) => useMemoryStore(builder, new TestClock()));
  const search = await fetch(`${url}/search`);
  expect([search.status, search.headers.get('ratelimit-policy')]).toEqual([200, '"1m";q=100;w=60']);
  const orders = await fetch(`${url}/orders`);
  expect([orders.status, orders.headers.get('ratelimit-policy')]).toEqual([
    200,
    expect.stringMatching(/^"1m";q=/),
  ]);
  const invoice = await post(`${url}/invoices`, {});
  const [, seconds] = /^"month";q=1000;w=(\d+)$/.exec(invoice.headers.get('ratelimit-policy') ?? '') ?? [];
  // a month with a change of the clocks is an hour shorter or longer
  expect(Number(seconds)).toBeGreaterThanOrEqual(28 * DAY);
  expect(Number(seconds)).toBeLessThanOrEqual(31 * DAY + 3_600);
  const login = await post(`${url}/login`, { user: 'ann' });
  expect([login.status, login.headers.get('ratelimit-policy')]).toEqual([201, '"15m";q=5;w=900']);
});
