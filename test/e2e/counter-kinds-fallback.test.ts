import { FreqLimit, type FreqLimitOptions, type FreqLimitRule, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { until } from '../support/cluster.js';
import { type CounterName, COUNTERS, hasBlock, limited, THREE } from '../support/limited.js';
import { captureLog } from '../support/log.js';
import { type Proxy, startProxy } from '../support/proxy.js';
import { plainClient, sweep, uniqueNamespace } from '../support/redis.js';
import { type Server, startServer } from '../support/server.js';

let server: Server;
let proxy: Proxy;
let namespace: string;
captureLog();

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  proxy = await startProxy(server.port);
  namespace = uniqueNamespace();
});
afterEach(async () => {
  await closeApps();
  await proxy.stop();
  const client = plainClient(server.url);
  expect(await sweep(client, namespace)).toEqual([]);
  await client.quit();
});

describe.each(PLATFORMS)('while Redis is away, on %s', (platform) => {
  async function start(rules: readonly FreqLimitRule[], options: FreqLimitOptions = {}) {
    const controller = limited(...rules.map((rule) => FreqLimit(rule)));
    const limits = { redis: proxy.url, namespace, timeoutMs: 500, ...options };
    const { app, url } = await startApp(platform, { controllers: [controller], limits });
    const service = app.get(FreqLimitService);
    const goAway = async (): Promise<void> => {
      proxy.refuse(true);
      proxy.reset();
      await until(() => !service.health().isUp);
    };
    const comeBack = async (): Promise<void> => {
      proxy.refuse(false);
      await until(() => service.health().isUp);
    };
    const check = { rule: 'x', controller, handler: 'call', key: 'ann' };
    return { url, service, check, goAway, comeBack, send: () => fetch(`${url}?user=ann`) };
  }
  const ruleOf = (counter: CounterName, parts: Partial<FreqLimitRule> = {}): FreqLimitRule =>
    ({ ...THREE[counter], name: 'x', key: '{query.user}', ...parts }) as FreqLimitRule;

  describe.each(COUNTERS)('%s', (counter) => {
    it('is counted in memory, and in Redis again when it is back', async () => {
      const { send, service, check, goAway, comeBack } = await start([ruleOf(counter)]);
      expect(await statuses(2, send)).toEqual([200, 200]);
      await goAway();
      expect(await statuses(4, send)).toEqual([200, 200, 200, 429]);
      const { tightest } = await service.peek(check);
      expect([tightest?.source, tightest?.blocked]).toEqual(['memory', hasBlock(counter) ? true : undefined]);
      await comeBack();
      expect(await statuses(2, send)).toEqual([200, 429]);
      expect((await service.peek(check)).tightest?.source).toBe('store');
    });

    it('has a part of its limit and its burst with fallbackShare', async () => {
      const parts = counter.includes('bucket') ? { limit: 8, burst: 6 } : { limit: 6 };
      const { send, goAway } = await start([ruleOf(counter, parts)], {
        fallbackShare: 0.5,
      });
      await goAway();
      expect(await statuses(4, send)).toEqual([200, 200, 200, 429]);
    });

    it('refunds in memory what does not count', async () => {
      const { url, goAway } = await start([ruleOf(counter, { countWhen: 'failure' })]);
      await goAway();
      expect(await statuses(9, () => fetch(`${url}?user=ann`))).toEqual(Array<number>(9).fill(200));
      const fail = () => fetch(`${url}?user=ann&status=401`);
      expect(await statuses(4, fail)).toEqual([401, 401, 401, 429]);
    });

    it.each([
      ['allow', [200, 200, 200, 200]],
      ['deny', [503, 503, 503, 503]],
    ] as const)('follows onStoreError: %s', async (onStoreError, expected) => {
      const { send, goAway } = await start([ruleOf(counter, { onStoreError })]);
      await goAway();
      expect(await statuses(4, send)).toEqual(expected);
    });
  });

  it('a block in memory does not follow to Redis, nor one in Redis to memory', async () => {
    const { send, goAway, comeBack, service, check } = await start([ruleOf('a fixed window with blocks')], {
      denyCache: false,
    });
    await statuses(4, send);
    expect((await service.peek(check)).tightest).toMatchObject({ blocked: true, source: 'store' });
    await goAway();
    expect(await statuses(4, send)).toEqual([200, 200, 200, 429]);
    await comeBack();
    const { tightest } = await service.peek(check);
    expect(tightest).toMatchObject({ blocked: true, source: 'store' });
    // the first step: what happened in memory is not counted here
    expect(tightest?.retryAfterMs).toBeLessThanOrEqual(2 * 3_600_000);
    expect(await statuses(1, send)).toEqual([429]);
  });

  it('a mixture of all kinds is decided all or none', async () => {
    const rules = COUNTERS.map((counter, i) => ruleOf(counter, { name: `r${i}` }));
    const { send, goAway } = await start([...rules, { window: '1h', limit: 2, name: 'two' }]);
    await goAway();
    expect(await statuses(4, send)).toEqual([200, 200, 429, 429]);
  });
});

describe('maxCounters', () => {
  it.each(COUNTERS)('bounds the memory, and drops clients that are not denied first: %s', async (counter) => {
    const rule = { ...THREE[counter], name: 'x', key: '{query.user}' } as FreqLimitRule;
    const limits = { maxCounters: 50 };
    const { url } = await startApp('express', { controllers: [limited(FreqLimit(rule))], limits });
    const send = (user: string) => () => fetch(`${url}?user=${user}`);
    expect(await statuses(4, send('denied'))).toEqual([200, 200, 200, 429]);
    for (let i = 0; i < 200; i++) await statuses(1, send(`user${i}`));
    expect(await statuses(1, send('denied'))).toEqual([429]);
    // one that was dropped begins again
    expect(await statuses(4, send('user0'))).toEqual([200, 200, 200, 429]);
  });
});
