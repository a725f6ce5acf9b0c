import { FreqLimit, type FreqLimitOptions, type FreqLimitRule, FreqLimitService } from 'nestjs-freq-limit';
import { PLATFORMS, startApp } from '../support/app.js';
import { remaining } from '../support/http.js';
import { type CounterName, COUNTERS, hasBlock, limited, THREE } from '../support/limited.js';
import { captureLog } from '../support/log.js';
import { keysOf } from '../support/redis.js';
import { redisClusterSuite } from '../support/redis-cluster-suite.js';

const suite = redisClusterSuite();
const { errors } = captureLog();

afterEach(() => {
  expect(errors).toEqual([]);
});

const optionsIn = (options: FreqLimitOptions = {}): FreqLimitOptions => ({
  redis: { cluster: suite.cluster.nodes },
  namespace: suite.namespace,
  timeoutMs: 5_000,
  ...options,
});

/** Rules by headers, so that a test chooses the slot of each. */
const rulesOf = (parts: Partial<Record<CounterName, Partial<FreqLimitRule>>> = {}): FreqLimitRule[] =>
  COUNTERS.map((counter, i) => {
    const rule = { ...THREE[counter], key: `{headers.x-${i}}`, name: `r${i}`, ...parts[counter] };
    return rule as FreqLimitRule;
  });

describe.each(PLATFORMS)('rules of all kinds in as many slots, on %s', (platform) => {
  async function start(rules: readonly FreqLimitRule[], options?: FreqLimitOptions) {
    const controller = limited(...rules.map((rule) => FreqLimit(rule)));
    const limits = optionsIn(options);
    const { app, url } = await startApp(platform, { controllers: [controller], limits });
    /** Sends values, one for each rule: the status, and what remains of each. */
    const send = async (values: readonly string[], query = ''): Promise<unknown[]> => {
      const headers = Object.fromEntries(values.map((value, i) => [`x-${i}`, value]));
      const response = await fetch(`${url}${query}`, { headers });
      return [response.status, ...Object.values(remaining(response))];
    };
    return { send, controller, service: app.get(FreqLimitService) };
  }
  const all = (value: string): string[] => COUNTERS.map((_, i) => `${value}-${i}`);

  it.each([true, false])('are charged all or none, denyCache %p', async (denyCache) => {
    const { send } = await start(rulesOf(), { denyCache });
    for (const left of [2, 1, 0]) expect(await send(all('a'))).toEqual([200, ...COUNTERS.map(() => left)]);
    for (const [i] of COUNTERS.entries()) {
      const values = COUNTERS.map((_, j) => (i === j ? `a-${i}` : `b${i}-${j}`));
      for (let n = 0; n < 3; n++) {
        expect((await send(values))[0]).toBe(429);
      }
      // the other rules were not charged
      const fresh = COUNTERS.map((_, j) => (i === j ? `c${i}` : `b${i}-${j}`));
      expect(await send(fresh)).toEqual([200, ...COUNTERS.map(() => 2)]);
    }
  });

  it('begin their blocks, also for a client that is likely to be denied by another rule', async () => {
    const { send, service, controller } = await start(rulesOf(), { denyCache: false });
    for (let i = 0; i < 3; i++) await send(all('a'));
    // its first rule denies it, now and as far as the process knows
    for (let n = 0; n < 3; n++) {
      const values = COUNTERS.map((_, j) => (j === 0 ? 'a-0' : `other-${j}`));
      expect((await send(values))[0]).toBe(429);
    }
    expect((await send(all('a')))[0]).toBe(429);
    for (const [i, counter] of COUNTERS.entries()) {
      const check = { rule: `r${i}`, controller, handler: 'call', key: `a-${i}` };
      const { tightest } = await service.peek(check);
      expect([counter, tightest?.allowed, tightest?.blocked]).toEqual([
        counter,
        false,
        hasBlock(counter) ? true : undefined,
      ]);
    }
  });

  it('refund what does not count, in each slot', async () => {
    const countWhen = 'failure';
    const parts = Object.fromEntries(COUNTERS.map((counter) => [counter, { countWhen }]));
    const { send } = await start(rulesOf(parts));
    for (let i = 0; i < 5; i++) expect(await send(all('a'))).toEqual([200, ...COUNTERS.map(() => 3)]);
    expect(await send(all('a'), '?status=401')).toEqual([401, ...COUNTERS.map(() => 2)]);
    const keys = await keysOf(suite.client, suite.namespace);
    expect(keys).toHaveLength(COUNTERS.length);
    expect(new Set(keys.map((key) => /\{.*?\}/.exec(key)?.[0])).size).toBe(COUNTERS.length);
  });

  it('allow requests that only a shadow rule would deny', async () => {
    const rules: FreqLimitRule[] = [
      { window: '1h', limit: 9, key: '{headers.x-0}', name: 'real' },
      { window: '1h', limit: 1, key: '{headers.x-1}', name: 's', shadow: true, algorithm: 'sliding-window' },
      { window: { calendar: 'year' }, limit: 1, key: '{headers.x-2}', name: 'c', shadow: true },
    ];
    const { send } = await start(rules);
    for (const left of [8, 7, 6, 5]) expect(await send(['a', 'b', 'c'])).toEqual([200, left]);
  });

  it('never let more than their limit pass concurrently', async () => {
    const { send } = await start(rulesOf(), { denyCache: false });
    const answers = await Promise.all(Array.from({ length: 30 }, () => send(all('a'))));
    const passed = answers.filter(([status]) => status === 200);
    expect(passed.length).toBeLessThanOrEqual(3);
    expect(answers.filter(([status]) => status !== 200 && status !== 429)).toEqual([]);
  });
});

describe('FreqLimitService in a Cluster', () => {
  const checks = COUNTERS.map((counter, i) => ({ ...THREE[counter], name: `n${i}`, key: `k${i}` }));

  it('peeks and resets in all slots, with the steps of blocks', async () => {
    const { app } = await startApp('express', { limits: optionsIn() });
    const service = app.get(FreqLimitService);
    for (let i = 0; i < 3; i++) expect((await service.consume(checks)).allowed).toBe(true);
    const denied = await service.consume(checks);
    expect(denied.results.map(({ allowed }) => allowed)).toEqual(checks.map(() => false));
    expect((await service.peek(checks)).results.map(({ blocked }) => blocked)).toEqual(
      COUNTERS.map((counter) => (hasBlock(counter) ? true : undefined)),
    );
    // one of them has two keys, in one slot
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(checks.length + 1);
    await service.reset(checks);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });
});
