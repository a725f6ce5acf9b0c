import {
  Controller,
  Get,
  type INestApplication,
  InternalServerErrorException,
  Logger,
  NotFoundException,
  Sse,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NEVER } from 'rxjs';
import {
  type ContextAdapter,
  FreqLimit,
  FreqLimitModule,
  type FreqLimitOptions,
  FreqLimitService,
  FreqLimitVerdict,
  type Verdict,
} from '../../src/index.js';
import { closeApps, type Platform, PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders, remaining } from '../support/http.js';
import { EVERYWHERE, type Kind, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

// Failures that users of other limiters met: what no other test holds to the letter.

const suite = redisSuite();

const limitsOf = (kind: Kind): FreqLimitOptions => limitsIn(kind, suite);

let lines: string[];

beforeEach(() => {
  lines = [];
  for (const level of ['error', 'warn'] as const) {
    const note = (...parts: unknown[]): void => void lines.push(parts.map(String).join('\n'));
    jest.spyOn(Logger.prototype, level).mockImplementation(note);
  }
});

describe.each(PLATFORMS)('a user with exactly the documented rights on %s', (platform) => {
  it('has given back what does not count', async () => {
    @Controller()
    class Login {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, key: 'all', name: 'failures', countWhen: 'failure' })
      get() {
        return 'ok';
      }
    }
    const user = suite.namespace.replace('-', '');
    // the line of README.md and docs/reliability.md
    const rights = `~${suite.namespace}:* -@all +evalsha +eval +incr +incrby +decrby +pttl +pexpire +pexpiretime +time +get +set +del +info`;
    await suite.client.acl('SETUSER', user, 'on', '>secret', 'resetkeys', ...rights.split(' '));
    const redis = new URL(redisUrl());
    redis.username = user;
    redis.password = 'secret';
    const limits = { ...limitsOf('redis'), redis: redis.href };
    const { url } = await startApp(platform, { controllers: [Login], limits });
    const seen = [];
    for (let i = 0; i < 5; i++) seen.push(remaining(await fetch(url)));
    await closeApps();
    await suite.client.acl('DELUSER', user);
    expect(seen).toEqual(Array.from({ length: 5 }, () => ({ failures: 3 })));
    expect(lines).toEqual([]);
  });
});

describe.each(PLATFORMS)('a context adapter that fails on %s', (platform) => {
  const fail = (): never => {
    throw new Error('no 13800000000\r\nERROR forged: yes');
  };

  it.each<[string, ContextAdapter, number]>([
    ['request', { request: fail }, 500],
    ['address', { address: fail }, 500],
    ['toError', { toError: fail }, 429],
  ])('in its %s forges no line of the log', async (_, http, status) => {
    @Controller()
    class Once {
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Once], limits: { contextAdapters: { http } } });
    expect((await statuses(2, () => fetch(url)))[1]).toBe(status);
    expect(lines.join('\n')).not.toMatch(/^ERROR forged/m);
  });
});

describe('a proxy on a unix socket', () => {
  @Controller()
  class Two {
    @Get()
    @FreqLimit('1m', 2, '{ip}')
    get() {
      return 'ok';
    }
  }

  const nearest = (_address: string, hop: number): boolean => hop === 0;
  const noAddress = [expect.stringMatching(/^A request came without an address/)];

  function adapterOf(platform: Platform, isTrusted: boolean) {
    if (platform === 'fastify') return new FastifyAdapter(isTrusted ? { trustProxy: nearest } : {});
    const adapter = new ExpressAdapter();
    if (isTrusted) adapter.set('trust proxy', nearest);
    return adapter;
  }

  // Nest 11's adapter for Fastify knows ports alone
  async function listenAt(app: INestApplication, platform: Platform, path: string): Promise<void> {
    if (platform === 'express') {
      await app.listen(path);
      return;
    }
    await app.init();
    await (app as NestFastifyApplication).getHttpAdapter().getInstance().listen({ path });
  }

  it.each(PLATFORMS.flatMap((platform) => [false, true].map((isTrusted) => [platform, isTrusted] as const)))(
    'on %s, trusted %s, is named in the log once, or its clients are counted each',
    async (platform, isTrusted) => {
      const module = await Test.createTestingModule({
        imports: [FreqLimitModule.forRoot(limitsOf('redis'))],
        controllers: [Two],
      }).compile();
      const app = module.createNestApplication(adapterOf(platform, isTrusted), { logger: false });
      const folder = await mkdtemp(join(tmpdir(), 'freq-limit-'));
      const socketPath = join(folder, 'http.sock');
      await listenAt(app, platform, socketPath);
      const ask = async (client: string): Promise<number | undefined> => {
        const headers = isTrusted ? { 'x-forwarded-for': `6.6.6.6, ${client}` } : {};
        const [answer] = (await once(get({ socketPath, agent: false, headers }), 'response')) as [
          IncomingMessage,
        ];
        answer.resume();
        await once(answer, 'end');
        return answer.statusCode;
      };
      const seen = [];
      for (const client of ['198.51.100.9', '198.51.100.9', '198.51.100.9', '198.51.100.10'])
        seen.push(await ask(client));
      expect(seen).toEqual(isTrusted ? [200, 200, 429, 200] : [200, 200, 429, 429]);
      expect(
        (await keysOf(suite.client, suite.namespace)).map((key) => key.split(':').at(-1)).sort(),
      ).toEqual(isTrusted ? ['198.51.100.10', '198.51.100.9'] : ['!no-address']);
      expect(lines).toEqual(isTrusted ? [] : noAddress);
      await app.close();
      await rm(folder, { recursive: true });
    },
  );
});

describe.each(PLATFORMS)('headers on %s', (platform) => {
  it('stand on what a handler throws, and before the first event of a stream', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 4, name: 'minute' })
    class Endings {
      @Get('missing')
      missing() {
        throw new NotFoundException();
      }
      @Get('broken')
      broken() {
        throw new InternalServerErrorException();
      }
      @Get('plain')
      plain() {
        throw new Error('plain');
      }
      @Sse('events')
      events() {
        return NEVER;
      }
    }
    const { url } = await startApp(platform, { controllers: [Endings] });
    const seen = [];
    for (const path of ['missing', 'broken', 'plain', 'events', 'events']) {
      const asking = get(`${url}/${path}`);
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      seen.push([path, answer.statusCode, answer.headers['ratelimit'], answer.headers['retry-after']]);
      asking.destroy();
    }
    expect(seen).toEqual([
      ['missing', 404, '"minute";a=3;w=60', undefined],
      ['broken', 500, '"minute";a=2;w=60', undefined],
      ['plain', 500, '"minute";a=1;w=60', undefined],
      ['events', 200, '"minute";a=0;w=60', undefined],
      ['events', 429, '"minute";a=0;w=60', '60'],
    ]);
  });

  it('tell a client denied within a window below a second to wait for one', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(5_000);
    @Controller()
    class Short {
      @Get()
      @FreqLimit({ window: '300ms', limit: 1, name: 'short' })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Short] });
    await fetch(url);
    const denied = await fetch(url);
    expect([denied.status, limitHeaders(denied), await denied.json()]).toEqual([
      429,
      { 'ratelimit-policy': '"short";q=1;w=1', ratelimit: '"short";a=0;w=1', 'retry-after': '1' },
      expect.objectContaining({ retryAfter: 1 }),
    ]);
  });
});

describe.each(EVERYWHERE)('on %s and %s', (platform, kind) => {
  it('visits that outlive their window give nothing back to the next', async () => {
    let isSlow = true;
    @Controller()
    class Short {
      @Get()
      @FreqLimit({ window: '300ms', limit: 3, name: 'short', countWhen: () => !isSlow })
      async get() {
        if (isSlow) await sleep(500);
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Short], limits: limitsOf(kind) });
    const together = async (count: number): Promise<number[]> => {
      const asked = Array.from({ length: count }, async () => (await fetch(url)).status);
      return (await Promise.all(asked)).sort();
    };
    expect(await together(5)).toEqual([200, 200, 200, 429, 429]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    isSlow = false;
    expect(await together(6)).toEqual([200, 200, 200, 429, 429, 429]);
    expect(lines).toEqual([]);
  });

  it('a raised limit lets in whom it has denied, on the same counter', async () => {
    let limit = 3;
    @Controller()
    class Plan {
      @Get()
      @FreqLimit({ window: '1m', limit: () => limit, name: 'plan' })
      get() {
        return 'ok';
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Plan], limits: limitsOf(kind) });
    expect(await statuses(8, () => fetch(url))).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    limit = 10;
    const raised = await fetch(url);
    expect([raised.status, remaining(raised)]).toEqual([200, { plan: 6 }]);
    limit = 3;
    expect(await statuses(1, () => fetch(url))).toEqual([429]);
    const check = { controller: Plan, handler: 'get', rule: 'plan', key: '127.0.0.1', limit };
    expect((await app.get(FreqLimitService).peek(check)).tightest!.used).toBe(4);
  });

  it('the largest limit is exact', async () => {
    const left: unknown[] = [];
    @Controller()
    class Most {
      @Get()
      @FreqLimit({ window: '1m', limit: Number.MAX_SAFE_INTEGER, name: 'most' })
      get(@FreqLimitVerdict() { tightest }: Verdict) {
        left.push(tightest!.remaining);
        return 'ok';
      }
    }
    const limits: FreqLimitOptions = { ...limitsOf(kind), headers: 'both' };
    const { url } = await startApp(platform, { controllers: [Most], limits });
    await statuses(2, () => fetch(url));
    expect(limitHeaders(await fetch(url))).toMatchObject({
      ratelimit: '"most";a=999999999999999;w=60',
      'x-ratelimit-remaining': '9007199254740988',
    });
    expect(left).toEqual([9_007_199_254_740_990, 9_007_199_254_740_989, 9_007_199_254_740_988]);
  });

  it('verdicts keep the numbers of their own handler', async () => {
    const rule = (name: string, limit: number) => ({ window: '1h', limit, name, cost: 0 }) as const;
    const shown = ({ results }: Verdict): string =>
      results.map(({ name, limit }) => `${name} ${limit}`).join();
    @Controller()
    @FreqLimit(rule('x', 5))
    @FreqLimit(rule('y', 9))
    class Mixed {
      @Get('own')
      @FreqLimit(rule('x', 2))
      own(@FreqLimitVerdict() verdict: Verdict) {
        return shown(verdict);
      }
      @Get('none')
      none(@FreqLimitVerdict() verdict: Verdict) {
        return shown(verdict);
      }
    }
    const limits = { ...limitsOf(kind), rules: [rule('global', 7)] };
    const { url } = await startApp(platform, { controllers: [Mixed], limits });
    const asked = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const path = i % 3 === 0 ? 'own' : 'none';
        return `${path}: ${await (await fetch(`${url}/${path}`)).text()}`;
      }),
    );
    expect([...new Set(asked)].sort()).toEqual(['none: global 7,x 5,y 9', 'own: global 7,x 2,y 9']);
  });
});
