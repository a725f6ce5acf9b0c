import { FreqLimit, type FreqLimitRule, FreqLimitService, type NamedRule } from 'nestjs-freq-limit';
import { startApp, statuses } from '../support/app.js';
import { limitsIn } from '../support/kinds.js';
import { limited } from '../support/limited.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

/** Processes with an old and a new version of the rule `x`, side by side on one Redis. */
async function deploy(before: NamedRule, after: NamedRule) {
  const processes = await Promise.all(
    [before, after].map(async (rule) => {
      const x = { key: '{query.user}', scope: 'app', ...rule, name: 'x' } as FreqLimitRule;
      const limits = { ...limitsIn('redis', suite), denyCache: false };
      const { app, url } = await startApp('express', { controllers: [limited(FreqLimit(x))], limits });
      const service = app.get(FreqLimitService);
      return {
        send: (count: number, query = '') => statuses(count, () => fetch(`${url}?user=ann${query}`)),
        wait: async () => Number((await fetch(`${url}?user=ann`)).headers.get('retry-after')),
        service,
      };
    }),
  );
  const [old, next] = processes;
  return { old: old!, next: next! };
}

const THREE = { window: '1m', limit: 3 } as const;

describe('a rule that changes on a rolling deploy', () => {
  it.each<[string, NamedRule, NamedRule]>([
    ['its algorithm', THREE, { ...THREE, algorithm: 'sliding-window' }],
    ['its algorithm back', { ...THREE, algorithm: 'token-bucket' }, THREE],
    [
      'from one to another',
      { ...THREE, algorithm: 'sliding-window' },
      { ...THREE, algorithm: 'token-bucket' },
    ],
    ['to a calendar', THREE, { window: { calendar: 'hour' }, limit: 3 }],
  ])('%s counts separately in old and new processes', async (_, before, after) => {
    const { old, next } = await deploy(before, after);
    expect(await old.send(4)).toEqual([200, 200, 200, 429]);
    expect(await next.send(4)).toEqual([200, 200, 200, 429]);
    expect(await old.send(1)).toEqual([429]);
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(2);
  });

  it.each<[string, NamedRule, NamedRule]>([
    ['its burst', { ...THREE, algorithm: 'token-bucket', burst: 9 }, { ...THREE, algorithm: 'token-bucket' }],
    [
      'its limit',
      { ...THREE, algorithm: 'sliding-window', limit: 9 },
      { ...THREE, algorithm: 'sliding-window' },
    ],
  ])('%s shares its counters, each process with its own numbers', async (_, before, after) => {
    const { old, next } = await deploy(before, after);
    expect(await next.send(4)).toEqual([200, 200, 200, 429]);
    expect(await old.send(7)).toEqual([200, 200, 200, 200, 200, 200, 429]);
    expect(await next.send(1)).toEqual([429]);
  });
});

describe('a rule that gets blocks on a rolling deploy', () => {
  const blocking = { ...THREE, blockFor: ['10m', '1h'] } as const;

  it('shares its counter and its blocks with old processes', async () => {
    const { old, next } = await deploy(THREE, blocking);
    expect(await old.send(2)).toEqual([200, 200]);
    expect(await next.send(2)).toEqual([200, 429]);
    expect(await next.wait()).toBe(600);
    // an old process denies too, and does not cut the block short
    expect(await old.send(3)).toEqual([429, 429, 429]);
    expect(await next.wait()).toBe(600);
    expect(await old.wait()).toBeGreaterThan(0);
  });

  it.each([
    ['countDenied', { countDenied: true }],
    ['a cost', { cost: 2 }],
    ['a cost above the limit', { cost: 4 }],
  ])('keeps its blocks while old processes deny with %s', async (_, parts) => {
    const { old, next } = await deploy({ ...THREE, ...parts }, blocking);
    expect(await next.send(4)).toEqual([200, 200, 200, 429]);
    const keys = await keysOf(suite.client, suite.namespace);
    const states = () => Promise.all(keys.map((key) => suite.client.get(key)));
    const before = await states();
    expect(await old.send(5)).toEqual([429, 429, 429, 429, 429]);
    expect(await states()).toEqual(before);
    expect(await next.wait()).toBe(600);
  });

  it('keeps its blocks while old processes refund', async () => {
    const { old, next } = await deploy(
      { ...THREE, countWhen: 'failure' },
      { ...blocking, countWhen: 'failure' },
    );
    const answers = await Promise.all([old.send(1), old.send(1), old.send(1), next.send(1, '&status=401')]);
    expect(answers.flat().filter((status) => status !== 429).length).toBeGreaterThan(0);
    expect(await next.send(4, '&status=401')).toContain(429);
    expect(await old.send(3)).toEqual([429, 429, 429]);
    expect(await next.wait()).toBeGreaterThan(595);
  });

  it('ends the blocks of new processes by a reset of old ones', async () => {
    const { old, next } = await deploy(THREE, blocking);
    const check = { ...THREE, key: 'ann', name: 'own' } as const;
    const withBlock = { ...check, blockFor: ['10m', '1h'] } as const;
    await next.service.consume({ ...withBlock, cost: 3 });
    expect((await next.service.consume(withBlock)).tightest?.blocked).toBe(true);
    expect((await old.service.peek(check)).allowed).toBe(false);
    await old.service.reset(check);
    expect((await next.service.consume(withBlock)).allowed).toBe(true);
  });

  it('loses its blocks in no process that goes back', async () => {
    const { old, next } = await deploy(blocking, THREE);
    expect(await old.send(4)).toEqual([200, 200, 200, 429]);
    // the roll-back removes blocks from the rule, and those that have begun last on
    expect(await next.send(2)).toEqual([429, 429]);
    expect(await old.wait()).toBe(600);
  });
});
