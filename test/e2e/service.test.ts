import { Controller, Get, Injectable, Post } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  FreqLimit,
  FreqLimitError,
  FreqLimitModule,
  FreqLimitService,
  isFreqLimitError,
  isFreqLimitExceeded,
} from 'nestjs-freq-limit';
import { closeApps, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, plainClient, redisUrl, sweep, uniqueNamespace } from '../support/redis.js';

const suite = redisSuite();

describe.each(['memory', 'redis'] as const)('the service on %s', (kind) => {
  const namespace = uniqueNamespace();
  const limits = kind === 'redis' ? { redis: redisUrl(), namespace, timeoutMs: 5_000 } : { namespace };
  let module: TestingModule;
  let service: FreqLimitService;

  beforeEach(async () => {
    module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile();
    await module.init();
    service = module.get(FreqLimitService);
  });
  afterEach(() => module.close());
  afterAll(async () => {
    const client = plainClient();
    expect(await sweep(client, namespace)).toEqual([]);
    await client.quit();
  });

  it('returns a verdict with all its numbers', async () => {
    const check = { key: ['answer', kind], window: '1m', limit: 2, name: 'mail' } as const;
    const first = await service.consume(check);
    expect(first).toEqual({
      allowed: true,
      source: 'store',
      tightest: first.results[0],
      results: [
        {
          name: 'mail',
          allowed: true,
          limit: 2,
          windowMs: 60_000,
          cost: 1,
          used: 1,
          remaining: 1,
          resetAfterMs: 60_000,
          retryAfterMs: 0,
          source: 'store',
        },
      ],
    });
    await service.consume(check);
    const denied = await service.consume(check);
    expect(denied).toMatchObject({ allowed: false, tightest: { used: 2, remaining: 0 } });
    expect(denied.tightest!.retryAfterMs).toBeGreaterThan(59_000);
    expect(denied.tightest!.retryAfterMs).toBeLessThanOrEqual(60_001);
  });

  it('decides several checks in one call, and charges all or none', async () => {
    const [minute, day] = [
      { key: `many-${kind}`, window: '1m', limit: 1 },
      { key: `many-${kind}`, window: '1d', limit: 10 },
    ] as const;
    for (const allowed of [true, false, false])
      expect((await service.consume([day, minute])).allowed).toBe(allowed);
    expect((await service.peek(day)).tightest!.used).toBe(1);
    expect((await service.consume([{ ...day, countDenied: true }, minute])).allowed).toBe(false);
    expect((await service.peek(day)).tightest!.used).toBe(2);
  });

  it('counts without a limit', async () => {
    const checks = [1, 2, 3].map((n) => ({ key: ['batch', kind, n], window: '1m' as const, cost: n }));
    await service.consume(checks);
    const { results, allowed } = await service.consume(checks);
    expect([allowed, results.map(({ used, cost }) => used - cost)]).toEqual([true, [1, 2, 3]]);
  });

  it('takes a cost, and denies a request that costs more than is left without charging it', async () => {
    const check = { key: ['cost', kind], window: '1m', limit: 5 } as const;
    expect((await service.consume({ ...check, cost: 4 })).allowed).toBe(true);
    expect((await service.consume({ ...check, cost: 4 })).tightest).toMatchObject({
      allowed: false,
      used: 4,
    });
    expect((await service.consume({ ...check, cost: 1 })).allowed).toBe(true);
    expect((await service.consume({ ...check, cost: 0 })).tightest).toMatchObject({ allowed: true, used: 5 });
  });

  it('separates values, names, windows and arrays, but not a number from its string', async () => {
    const base = { window: '1m', limit: 1 } as const;
    const checks = [
      { ...base, key: `apart-${kind}` },
      { ...base, key: `apart-${kind}`, name: 'other' },
      { ...base, key: `apart-${kind}`, window: '2m' as const },
      { ...base, key: [kind, 'a:b', 'c'] },
      { ...base, key: [kind, 'a', 'b:c'] },
      { ...base, key: [kind, 'a|b', 'c'] },
      { ...base, key: [kind, 'a', 'b|c'] },
      { ...base, key: [kind, 1] },
    ];
    for (const check of checks) expect((await service.consume(check)).allowed).toBe(true);
    for (const check of checks) expect((await service.consume(check)).allowed).toBe(false);
    expect((await service.consume({ ...base, key: [kind, '1'] })).allowed).toBe(false);
  });

  it('resets one counter, whatever characters its value has', async () => {
    const [star, other] = ['*', 'other'].map((key) => ({
      key: [kind, key],
      window: '1m' as const,
      limit: 1,
    }));
    await service.consume([star!, other!]);
    await service.reset(star!);
    await service.reset({ key: 'never charged', window: '1m' });
    expect((await service.consume(star!)).allowed).toBe(true);
    expect((await service.consume(other!)).allowed).toBe(false);
  });

  it('allows an empty call without the store', async () => {
    expect(await service.consume([])).toEqual({
      allowed: true,
      results: [],
      tightest: undefined,
      source: 'none',
    });
    expect(await service.peek([])).toMatchObject({ allowed: true, source: 'none' });
    await expect(service.reset([])).resolves.toBeUndefined();
  });

  it.each<[string, unknown, RegExp]>([
    [
      'a negative cost',
      { key: 'bad', window: '1m', limit: 1, cost: -1 },
      /consume: check: cost: -1 is not a whole number/,
    ],
    ['a cost of NaN', { key: 'bad', window: '1m', cost: NaN }, /cost: NaN is not/],
    ['a fractional cost', { key: 'bad', window: '1m', cost: 1.5 }, /cost: 1.5 is not/],
    ['a string for a cost', { key: 'bad', window: '1m', cost: '2' }, /cost: "2" is not/],
    ['a cost of 2^53', { key: 'bad', window: '1m', cost: 2 ** 53 }, /cost: 9007199254740992 is not/],
    ['a limit of NaN', { key: 'bad', window: '1m', limit: NaN }, /limit: NaN is not/],
    ['an infinite limit', { key: 'bad', window: '1m', limit: Infinity }, /limit: Infinity is not/],
    ['no window', { key: 'bad', limit: 1 }, /window: is missing; expected a string with a unit/],
    ['no key', { window: '1m', limit: 1 }, /key: undefined is not a value to count by/],
    ['an empty key', { key: '', window: '1m' }, /key: "" is not a value to count by/],
    ['an empty list', { key: [], window: '1m' }, /key: \[list of 0\] is not a value/],
    ['a list with a hole', { key: ['a', undefined], window: '1m' }, /key: \[list of 2\] is not a value/],
    ['an object for a key', { key: {}, window: '1m' }, /key: \[object\] is not a value/],
    ['another word', { key: 'bad', window: '1m', points: 1 }, /points: is not an option/],
    [
      'nothing',
      undefined,
      /check: undefined is not a check; write consume\(\{ key, window: '1m', limit: 5 \}\)/,
    ],
    ['a name no header can carry', { key: 'bad', window: '1m', name: 'a"b' }, /name: /],
  ])('rejects %s and charges nothing', async (_, check, message) => {
    const good = { key: ['good', kind], window: '1m', limit: 5 };
    const error: unknown = await service.consume(check as never).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FreqLimitError);
    expect(isFreqLimitError(error) && error.code).toBe('FREQ_LIMIT_INVALID_CHECK');
    expect((error as Error).message).toMatch(message);
    await expect(service.consume([good, check] as never)).rejects.toThrow(/checks\[1\]/);
    expect((await service.peek(good as never)).tightest!.used).toBe(0);
  });

  it('rejects more checks than one call can decide', async () => {
    const checks = Array.from({ length: 1_001 }, (_, i) => ({ key: i, window: '1m' as const }));
    await expect(service.consume(checks)).rejects.toThrow(
      /1001 checks in one call; at most 1000 are possible/,
    );
    expect((await service.consume(checks.slice(1))).results).toHaveLength(1_000);
  });

  it('stops a worker when its limit is reached', async () => {
    @Injectable()
    class MailWorker {
      sent = 0;
      constructor(private readonly limits: FreqLimitService) {}
      async run(): Promise<void> {
        for (let job = 0; job < 10; job++) {
          const { allowed } = await this.limits.consume({
            key: ['mail', kind, namespace],
            window: '1h',
            limit: 4,
          });
          if (allowed) this.sent++;
        }
      }
    }
    const worker = await Test.createTestingModule({
      imports: [FreqLimitModule.forRoot(limits)],
      providers: [MailWorker],
    }).compile();
    await worker.init();
    await worker.get(MailWorker).run();
    expect(worker.get(MailWorker).sent).toBe(4);
    await worker.close();
  });
});

describe.each(['memory', 'redis'] as const)('a counter of the guard on %s', (kind) => {
  @Controller('login')
  @FreqLimit({ window: '1m', limit: 100, name: 'all' })
  @FreqLimit({ window: '1m', limit: 100, name: 'each', scope: 'handler' })
  @FreqLimit({ window: '1m', limit: 100, name: 'list', key: [() => 't', '{ip}'] })
  class LoginController {
    @Post()
    @FreqLimit({ window: '1m', limit: 1, key: 'user:{body.user}', name: 'user' })
    @FreqLimit({ window: '1m', limit: 50, key: '{ip}', name: 'ip' })
    @FreqLimit({ window: '1m', limit: () => 50, key: () => ['a', 'b'], name: 'dynamic' })
    login() {
      return 'ok';
    }
    @Get('none')
    none() {
      return 'ok';
    }
  }
  const start = async (namespace = uniqueNamespace()) => {
    const store = kind === 'redis' ? { redis: redisUrl(), namespace, timeoutMs: 5_000 } : {};
    const rules = [{ window: '1m', limit: 1_000, name: 'app', key: 'everyone' }] as const;
    const { app, url } = await startApp('express', {
      controllers: [LoginController],
      limits: { ...store, rules },
    });
    return { url, service: app.get(FreqLimitService), namespace };
  };
  const of = (rule: string, parts: object = {}) =>
    ({ rule, controller: LoginController, handler: 'login', ...parts }) as const;

  it('is found by its rule and the values of the key', async () => {
    const { url, service, namespace } = await start();
    const login = (): Promise<Response> => post(`${url}/login`, { user: 'a{b}:c' });
    expect(await statuses(2, login)).toEqual([201, 429]);
    expect((await service.peek(of('user', { key: 'a{b}:c' }))).tightest).toMatchObject({
      name: 'user',
      used: 1,
      limit: 1,
    });
    await service.reset(of('user', { key: 'a{b}:c' }));
    expect(await statuses(2, login)).toEqual([201, 429]);
    expect((await service.peek(of('ip', { key: '::ffff:127.0.0.1' }))).tightest!.used).toBe(2);
    expect(
      (await service.peek({ rule: 'all', controller: LoginController, key: '127.0.0.1' })).tightest!.used,
    ).toBe(2);
    expect((await service.peek({ rule: 'app' })).tightest!.used).toBe(2);
    const list = { rule: 'list', controller: LoginController, key: ['t', '::ffff:127.0.0.1'] } as const;
    expect((await service.peek(list)).tightest!.used).toBe(2);
    expect((await service.peek(of('dynamic', { key: ['a', 'b'], limit: 50 }))).tightest!.used).toBe(2);
    await service.reset(of('dynamic', { key: ['a', 'b'] }));
    expect((await service.peek(of('dynamic', { key: ['a', 'b'], limit: 50 }))).tightest!.used).toBe(0);
    const client = plainClient();
    expect(await sweep(client, namespace)).toEqual([]);
    for (const key of await keysOf(client, namespace)) expect(key).not.toMatch(/[{}]/);
    await client.quit();
  });

  it('is found by the address if the request had no key', async () => {
    const { url, service } = await start();
    expect(await statuses(2, () => post(`${url}/login`))).toEqual([201, 429]);
    await service.reset(of('user', { address: '127.0.0.1' }));
    expect(await statuses(2, () => post(`${url}/login`))).toEqual([201, 429]);
  });

  it.each<[string, object, RegExp]>([
    [
      'an unknown rule',
      of('nope', { key: 'x' }),
      /LoginController.login has no rule called "nope"; its rules: app, all, each, list, user, ip, dynamic/,
    ],
    [
      'an unknown handler',
      { rule: 'user', controller: LoginController, handler: 'logout' },
      /LoginController has no handler called "logout"/,
    ],
    [
      'a method of every object',
      { rule: 'user', controller: LoginController, handler: 'toString' },
      /no handler called "toString"/,
    ],
    [
      'a handler without its controller',
      { rule: 'user', handler: 'login' },
      /controller: is missing; pass the class of the handler "login"/,
    ],
    [
      'a class that is not in the application',
      { rule: 'all', controller: class Foreign {} },
      /\[function Foreign\] is not a controller of this application/,
    ],
    [
      'a string for a controller',
      { rule: 'all', controller: 'LoginController' },
      /controller: "LoginController" is not a class/,
    ],
    [
      'no handler for a rule of each handler',
      { rule: 'each', controller: LoginController },
      /handler: is missing; the rule "each" counts each handler separately/,
    ],
    [
      'no text for an address',
      of('user', { address: '' }),
      /address: "" is not a string of at least one character/,
    ],
    [
      'too few values',
      of('user'),
      /the key "user:\{body.user\}" takes one value for each of its placeholders, got 0/,
    ],
    [
      'too many values',
      of('user', { key: ['a', 'b'] }),
      /takes one value for each of its placeholders, got 2/,
    ],
    ['a value that is none', of('user', { key: '' }), /key: "" is not a value to count by/],
    [
      'key and address',
      of('user', { key: 'a', address: '127.0.0.1' }),
      /pass either address or key, not both/,
    ],
    [
      'a window of its own',
      of('user', { key: 'a', window: '2m' }),
      /window: the rule "user" has its own window; remove this option/,
    ],
    [
      'no limit for a rule whose limit is a function',
      of('dynamic', { key: 'a' }),
      /limit: is missing; the limit of the rule "dynamic" is a function, so pass a number/,
    ],
    ['an unknown property', of('user', { key: 'a', name: 'x' }), /name: is not an option/],
  ])('is not found by %s', async (_, check, message) => {
    const { service } = await start();
    await expect(service.peek(check as never)).rejects.toThrow(message);
  });

  it('has errors that are not denials, by brand', () => {
    expect([
      isFreqLimitExceeded(new Error()),
      isFreqLimitError(null),
      isFreqLimitExceeded(undefined),
    ]).toEqual([false, false, false]);
  });
});

describe('a reset', () => {
  it('allows the client again in every process, also with a prefixed Redis client', async () => {
    @Controller()
    class Login {
      @Post()
      @FreqLimit({ window: '1m', limit: 1, key: 'user:{body.user}', name: 'user' })
      login() {
        return 'ok';
      }
    }
    const clients = [1, 2].map(() => new Redis(redisUrl(), { keyPrefix: `${suite.namespace}:` }));
    const [one, two] = await Promise.all(
      clients.map((redis) => startApp('express', { controllers: [Login], limits: { redis } })),
    );
    const login = (): Promise<Response> => post(one!.url, { user: 'ann' });
    expect(await statuses(2, login)).toEqual([201, 429]);
    const counter = { rule: 'user', controller: Login, handler: 'login', key: 'ann' };
    await two!.app.get(FreqLimitService).reset(counter);
    // the other process caches a denial for a second
    while ((await login()).status !== 201) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await statuses(1, login)).toEqual([429]);
    await one!.app.get(FreqLimitService).reset(counter);
    expect(await statuses(2, login)).toEqual([201, 429]);
    await closeApps();
    await Promise.all(clients.map((redis) => redis.quit()));
  });
});
