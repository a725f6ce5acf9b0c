import { ExportsController, ExportsModule, Orders } from '../../examples/costs/exports.controller.js';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { PLATFORMS, serve } from '../support/app.js';
import { until } from '../support/cluster.js';
import { startWithUsers } from '../support/example-app.js';
import { remaining } from '../support/http.js';
import { EVERYWHERE } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';

/** Ends the connections of a test, before its applications are closed. */
let clients: AbortController;

beforeEach(() => {
  clients = new AbortController();
});
afterEach(() => {
  clients.abort();
});

const suite = redisSuite();
const log = captureLog();

/** Sends the first row of an export, and the last one when the test says so. */
class SlowOrders extends Orders {
  private readonly waiting: (() => void)[] = [];

  override async *rows(): AsyncGenerator<string> {
    yield 'id,total\n';
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    yield '1,20\n';
  }

  /** Sends the last row of the export that began first. */
  finish(): void {
    this.waiting.shift()?.();
  }
}

describe.each(EVERYWHERE)('exports on %s, counted in %s', (platform, kind) => {
  const start = async (orders: Orders) => {
    const providers = [{ provide: Orders, useValue: orders }];
    const parts = { controllers: [ExportsController], providers };
    const { url } = await startWithUsers(platform, kind, suite, parts);
    return (authorization = 'ann', signal = clients.signal) =>
      fetch(`${url}/exports`, { headers: { authorization }, signal });
  };

  it('run two at once for each user', async () => {
    const orders = new SlowOrders();
    const send = await start(orders);
    const first = await send();
    const second = await send();
    expect([first.status, second.status]).toEqual([200, 200]);
    const third = await send();
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1']);
    expect(third.headers.get('ratelimit-policy')).toContain('"exports";q=2;qu="concurrent-requests"');
    // the day is not charged for it
    expect(remaining(third)).toMatchObject({ daily: 18, exports: 0 });
    expect((await send('bob')).status).toBe(200);

    orders.finish();
    expect(await first.text()).toBe('id,total\n1,20\n');
    await until(async () => (await send()).status === 200);
    expect((await send()).status).toBe(429);
    expect(log.lines).toEqual([]);
  });

  it('give the slot back when the client hangs up', async () => {
    const send = await start(new SlowOrders());
    const client = new AbortController();
    await send('ann', client.signal);
    await send();
    expect((await send()).status).toBe(429);
    client.abort();
    await until(async () => (await send()).status === 200);
    expect((await send()).status).toBe(429);
  });
});

it.each(PLATFORMS)('exports of two processes run two at once, on %s', async (platform) => {
  const orders = [new SlowOrders(), new SlowOrders()];
  const parts = (one: Orders) => ({
    controllers: [ExportsController],
    providers: [{ provide: Orders, useValue: one }],
  });
  const urls: string[] = [];
  for (const one of orders) urls.push((await startWithUsers(platform, 'redis', suite, parts(one))).url);
  const headers = { authorization: 'ann' };
  const send = (process: number) => fetch(`${urls[process]}/exports`, { headers, signal: clients.signal });
  const statuses = [
    (await send(0)).status,
    (await send(1)).status,
    (await send(0)).status,
    (await send(1)).status,
  ];
  expect(statuses).toEqual([200, 200, 429, 429]);
  orders[1]!.finish();
  await until(async () => (await send(0)).status === 200);
  expect((await send(1)).status).toBe(429);
});

it('the example of exports starts', async () => {
  const { url } = await serve('express', { imports: [ExportsModule] }, (builder) =>
    useMemoryStore(builder, new TestClock()),
  );
  const send = () => fetch(`${url}/exports`, { headers: { authorization: 'ann' } });
  const rows: string[] = [];
  // the slot is free a moment after the client has the last row
  await until(async () => {
    const response = await send();
    if (response.ok) rows.push(await response.text());
    return rows.length === 3;
  });
  expect(rows).toEqual(Array(3).fill('id,total\n1,20\n2,35\n'));
  expect(log.lines).toEqual([]);
});
