import { FreqLimit, type FreqLimitRule, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, startApp, statuses } from '../support/app.js';
import { until } from '../support/cluster.js';
import { type CounterName, COUNTERS, hasBlock, limited, THREE } from '../support/limited.js';
import { watchCommands } from '../support/monitor.js';
import { uniqueNamespace } from '../support/redis.js';
import { type Server, startServer } from '../support/server.js';

let server: Server;
let namespace: string;
let calls = 0;
let stopWatching: () => void;

beforeAll(async () => {
  server = await startServer();
  stopWatching = await watchCommands(server.url, ({ args: [command = ''], isFromScript }) => {
    if (!isFromScript && command.toLowerCase().startsWith('eval')) calls++;
  });
});
afterAll(async () => {
  stopWatching();
  await server.stop();
});
beforeEach(() => {
  namespace = uniqueNamespace();
});
afterEach(closeApps);

async function start(counter: CounterName, parts: Partial<FreqLimitRule> = {}) {
  const rule = { ...THREE[counter], name: 'x', key: '{query.user}', ...parts } as FreqLimitRule;
  const controller = limited(FreqLimit(rule));
  const limits = { redis: server.url, namespace, timeoutMs: 5_000 };
  const { app, url } = await startApp('express', { controllers: [controller], limits });
  return {
    service: app.get(FreqLimitService),
    check: { rule: 'x', controller, handler: 'call', key: 'ann' },
    send: (user = 'ann', cost = 1) => fetch(`${url}?user=${user}&cost=${cost}`),
  };
}

describe.each(COUNTERS)('the deny cache and %s', (counter) => {
  it('denies a client over its limit without Redis, with the same answer', async () => {
    const { send } = await start(counter);
    await statuses(3, () => send());
    const first = await send();
    const before = calls;
    const from = performance.now();
    for (let i = 0; i < 30; i++) {
      const response = await send();
      const waits = [first, response].map(({ headers }) => Number(headers.get('retry-after')));
      expect([response.status, waits[0]! - waits[1]! <= 1]).toEqual([429, true]);
      expect(response.headers.get('ratelimit-policy')).toBe(first.headers.get('ratelimit-policy'));
    }
    // an entry lasts a second
    const seconds = Math.floor((performance.now() - from) / 1_000);
    expect(calls - before).toBeLessThanOrEqual(1 + seconds);
    expect((await send('bob')).status).toBe(200);
  });

  it('allows a client again at once after a reset, and within a second after one of another process', async () => {
    const [one, other] = await Promise.all([start(counter), start(counter)]);
    expect(await statuses(4, () => one.send())).toEqual([200, 200, 200, 429]);
    expect((await other.send()).status).toBe(429);
    await one.service.reset(one.check);
    expect((await one.send()).status).toBe(200);
    const from = performance.now();
    await until(async () => (await other.send()).status === 200);
    expect(performance.now() - from).toBeLessThan(1_500);
  });

  it('never lets a request pass that Redis would deny, whatever it costs', async () => {
    const cost: FreqLimitRule['cost'] = (context) =>
      Number(context.switchToHttp().getRequest<{ query: { cost: string } }>().query.cost);
    const { send, service, check } = await start(counter, { cost });
    for (let i = 0; i < 4; i++) expect((await send('ann', 4)).status).toBe(429);
    expect((await send('ann', 2)).status).toBe(200);
    for (let i = 0; i < 4; i++) expect((await send('ann', 4)).status).toBe(429);
    // one unit is left, unless the client is blocked
    expect((await send('ann', 2)).status).toBe(429);
    expect((await send('ann', 1)).status).toBe(hasBlock(counter) ? 429 : 200);
    for (let i = 0; i < 4; i++) expect((await send('ann', 1)).status).toBe(429);
    const { tightest } = await service.peek(check);
    expect([tightest?.used, tightest?.blocked]).toEqual([3, hasBlock(counter) ? true : undefined]);
  });
});
