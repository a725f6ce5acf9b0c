import type { Type } from '@nestjs/common';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { AccountsModule } from '../../examples/algorithms/accounts.js';
import { ApiModule } from '../../examples/algorithms/api.js';
import { ChatGateway } from '../../examples/algorithms/chat.gateway.js';
import type { FreqLimitEvent } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { closeApps, PLATFORMS, serve, statuses } from '../support/app.js';
import { post, remaining } from '../support/http.js';
import { captureLog } from '../support/log.js';
import { closeClients, connect, denied, startGateways } from '../support/sockets.js';

// the examples of docs/algorithms.md; the suites of the stores test the same in Redis

const log = captureLog();

const VERDICTS = 'nestjs-freq-limit:verdict';

afterEach(() => {
  closeClients();
  return closeApps();
});

describe.each(PLATFORMS)('the limits to choose from, on %s', (platform) => {
  const start = async (module: Type) => {
    const clock = new TestClock();
    const { url } = await serve(platform, { imports: [module] }, (builder) => useMemoryStore(builder, clock));
    return { url, clock };
  };
  const waitOf = (response: Response) => [response.status, Number(response.headers.get('retry-after'))];

  it('block a client after five wrong passwords, and longer each time', async () => {
    const { url, clock } = await start(AccountsModule);
    const logIn = (password: string) => post(`${url}/login`, { user: 'ann', password });
    expect(await statuses(7, () => logIn('open sesame'))).toEqual(Array(7).fill(201));
    for (const [length, seconds] of [
      ['15m', 900],
      ['1h', 3_600],
      ['1d', 86_400],
    ] as const) {
      expect(await statuses(5, () => logIn('guess'))).toEqual([401, 401, 401, 401, 401]);
      expect(waitOf(await logIn('guess'))).toEqual([429, seconds]);
      expect((await logIn('open sesame')).status).toBe(429);
      clock.advance(length);
    }
    expect((await logIn('open sesame')).status).toBe(201);
  });

  it('send five codes in any day to a phone, one in a minute', async () => {
    const { url, clock } = await start(AccountsModule);
    const send = () => post(`${url}/code`, { phone: '+49 30 123456' });
    for (let sent = 1; sent <= 5; sent++) {
      const response = await send();
      expect([response.status, remaining(response)['day']]).toEqual([201, 5 - sent]);
      expect(waitOf(await send())[0]).toBe(429);
      clock.advance('1m');
    }
    const [status, seconds] = waitOf(await send());
    expect(status).toBe(429);
    expect(seconds).toBeGreaterThan(86_400 - 6 * 60);
    expect(seconds).toBeLessThanOrEqual((86_400 * 17) / 16);
    clock.advance(`${seconds!}s`);
    expect((await send()).status).toBe(201);
  });

  it('depend on the plan of a tenant', async () => {
    const { url, clock } = await start(ApiModule);
    const get = (authorization: string) => fetch(`${url}/orders`, { headers: { authorization } });
    const first = await get('acme');
    expect(first.headers.get('ratelimit-policy')).toMatch(/^"rate";q=100;w=10, "quota";q=1000000;w=\d+$/);
    expect(remaining(first)).toEqual({ rate: 99, quota: 999_999 });
    expect(await statuses(11, () => get('tiny'))).toEqual([...Array<number>(10).fill(200), 429]);
    expect(waitOf(await get('tiny'))).toEqual([429, 1]);
    clock.advance('1s');
    expect(await statuses(2, () => get('tiny'))).toEqual([200, 429]);
  });

  it('allow three exports in any hour', async () => {
    const { url } = await start(ApiModule);
    const rows = () => post(`${url}/orders/export`, {}, { authorization: 'tiny' });
    expect(await statuses(4, rows)).toEqual([201, 201, 201, 429]);
  });

  it('count the tokens of a language model', async () => {
    const { url } = await start(ApiModule);
    const estimates: unknown[] = [];
    const listen = (event: unknown) => {
      estimates.push((event as FreqLimitEvent).verdict.results.map(({ cost }) => cost));
    };
    subscribe(VERDICTS, listen);
    const ask = (body: object) => post(`${url}/answers`, body, { authorization: 'tiny' });
    const question = { prompt: 'why'.repeat(20), maxTokens: 1_000 };
    const left = [remaining(await ask(question))];
    const odd = [{}, { prompt: 1, maxTokens: -5 }, { prompt: '', maxTokens: 1e9 }];
    for (const body of odd) left.push(remaining(await ask(body)));
    unsubscribe(VERDICTS, listen);
    expect(estimates).toEqual([1_030, 500, 1, 4_000].map((cost) => [cost, cost]));
    // each character counts as two tokens
    const used = [122, 124, 126, 128];
    expect(left).toEqual(used.map((tokens) => ({ tokens: 20_000 - tokens, budget: 500_000 - tokens })));
  });

  it('take the calls of a sender that repeats them all at once', async () => {
    const { url } = await start(AccountsModule);
    const response = await post(`${url}/hooks/payments`);
    expect(response.headers.get('ratelimit-policy')).toBe('"1m";q=600;w=120');
    expect(response.headers.get('ratelimit')).toBe('"1m";a=599;w=1');
  });

  it('silence a socket for a minute', async () => {
    const { url } = await startGateways(platform, 'socket.io', [ChatGateway], { redis: false });
    const client = await connect('socket.io', url);
    const said = await client.requestTimes(20, 'say', { text: 'hi' });
    expect(said).toEqual(Array(20).fill({ event: 'said', data: 'hi' }));
    expect(await client.request('say', { text: 'hi' })).toMatchObject({ ...denied(60), event: 'exception' });
  });
});

it('the limits to choose from cause no warning', async () => {
  for (const module of [AccountsModule, ApiModule]) {
    await serve('express', { imports: [module] }, (builder) => useMemoryStore(builder, new TestClock()));
  }
  expect(log.lines).toEqual([]);
});
