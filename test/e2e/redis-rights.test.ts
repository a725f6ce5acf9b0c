import { Controller, Get } from '@nestjs/common';
import { type CounterCheck, FreqLimit, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { remaining } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

// the line of docs/reliability.md
const DOCUMENTED =
  '-@all +evalsha +eval +incr +incrby +decrby +pttl +pexpire +pexpireat +pexpiretime +time +get +set +setrange +del ' +
  '+zadd +zcount +zrangebyscore +zrem +zremrangebyscore +info';

const suite = redisSuite();
const { lines } = captureLog();
let user: string;

beforeEach(() => {
  user = suite.namespace.replace('-', '');
});
afterEach(async () => {
  await closeApps();
  await suite.client.acl('DELUSER', user);
});

/** Options that count as a Redis user with these rights. */
async function limitsOfUser(rights: string) {
  await suite.client.acl('SETUSER', user, 'on', '>secret', 'resetkeys', ...rights.split(' '));
  const url = new URL(redisUrl());
  url.username = user;
  url.password = 'secret';
  return { ...limitsIn('redis', suite), redis: url.href };
}

const ofOurKeys = (commands: string): string => `~${suite.namespace}:* ${commands}`;

describe.each(PLATFORMS)('limits in Redis on %s', (platform) => {
  it('need no more rights than the documented ones', async () => {
    const limits = { ...(await limitsOfUser(ofOurKeys(DOCUMENTED))), requireStore: true };
    const { app } = await startApp(platform, { limits });
    const service = app.get(FreqLimitService);
    const check = { key: 'x', window: '1m', limit: 1 } as const;
    expect((await service.consume(check)).allowed).toBe(true);
    expect((await service.consume([check, { ...check, key: 'y' }])).allowed).toBe(false);
    await service.reset(check);
    expect((await service.peek(check)).allowed).toBe(true);
  });

  it.each<[string, Partial<CounterCheck>]>([
    ['a sliding window', { algorithm: 'sliding-window' }],
    ['a token bucket', { algorithm: 'token-bucket' }],
    ['a calendar', { window: { calendar: 'month' } }],
    ['blocks', { blockFor: ['1m', '1h'] }],
  ])('need no more rights than the documented ones for %s', async (_, parts) => {
    const { app } = await startApp(platform, { limits: await limitsOfUser(ofOurKeys(DOCUMENTED)) });
    const service = app.get(FreqLimitService);
    const check = { key: 'x', window: '1m', limit: 2, ...parts } as CounterCheck;
    for (const allowed of [true, true, false]) {
      expect(await service.consume([check, { key: 'y', window: '1m' }])).toMatchObject({
        allowed,
        source: 'store',
      });
    }
    await service.reset(check);
    expect((await service.peek(check)).results[0]!.used).toBe(0);
    expect(lines).toEqual([]);
  });

  it('leave no counter without an expiry if the right to set it is missing', async () => {
    const rights = '-@all +evalsha +eval +incr +incrby +decrby +pttl +get +set +del +info';
    const { app } = await startApp(platform, { limits: await limitsOfUser(ofOurKeys(rights)) });
    const service = app.get(FreqLimitService);
    for (let i = 0; i < 5; i++) {
      expect((await service.consume({ key: `k${i}`, window: '1m', limit: 1 })).source).toBe('memory');
    }
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });
});

describe.each(PLATFORMS)('a Redis user with exactly the documented rights on %s', (platform) => {
  it.each([
    ['in a fixed window', {}],
    ['in a sliding window', { algorithm: 'sliding-window' }],
    ['in a token bucket', { algorithm: 'token-bucket' }],
    ['with blocks', { blockFor: '1h' }],
  ] as const)('can refund %s', async (_, parts) => {
    @Controller()
    class Login {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, key: 'all', name: 'failures', countWhen: 'failure', ...parts })
      get() {
        return 'ok';
      }
    }
    const limits = await limitsOfUser(ofOurKeys(DOCUMENTED));
    const { url } = await startApp(platform, { controllers: [Login], limits });
    const seen = [];
    for (let i = 0; i < 5; i++) seen.push(remaining(await fetch(url)));
    expect(seen).toEqual(Array.from({ length: 5 }, () => ({ failures: 3 })));
    expect(lines).toEqual([]);
  });
});

describe('a Redis user without the right', () => {
  @Controller()
  class Limited {
    @Get()
    @FreqLimit({ window: '1m', limit: 1, name: 'one' })
    get() {
      return 'ok';
    }
  }

  it.each([
    ['to EVALSHA', '~* +@all -evalsha'],
    ['to the keys', '~elsewhere:* +@all'],
  ])('%s makes every request fail, with one log line that names it', async (_, rights) => {
    const limits = { ...(await limitsOfUser(rights)), onStoreError: 'deny' } as const;
    const { url } = await startApp('express', { controllers: [Limited], limits });
    expect(await statuses(5, () => fetch(url))).toEqual([503, 503, 503, 503, 503]);
    expect(lines).toEqual([expect.stringMatching(/NOPERM .*(evalsha|key)/i)]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });
});
