import { Cluster, Redis } from 'ioredis';
import { isFreqLimitError } from '../../src/core/errors.js';
import { plainKey } from '../../src/core/key-hash.js';
import { Mistakes } from '../../src/core/mistakes.js';
import type { ResolvedOptions } from '../../src/freq-limit.options.js';
import { resolveOptions as resolve } from '../../src/freq-limit.resolve-options.js';
import { thrownBy } from './fixtures.js';

const DEFAULT_OPTIONS = {
  redis: undefined,
  rules: [],
  namedRules: {},
  defaultKey: '{ip}',
  namespace: 'fl',
  onMissingKey: 'ip',
  countDenied: false,
  algorithm: 'fixed-window',
  skipIf: undefined,
  isSkipped: undefined,
  headers: 'draft',
  partitionKeys: false,
  errorFormat: 'nest',
  message: undefined,
  exceptionFactory: undefined,
  onVerdict: undefined,
  onDenied: undefined,
  contextAdapters: {},
  ipv6Subnet: 64,
  maxCounters: 100_000,
  timeoutMs: 250,
  onStoreError: 'memory',
  requireStore: false,
  fallbackShare: 1,
  hashTag: undefined,
  coalesce: true,
  denyCache: true,
  hashKey: plainKey,
};

const CLIENT = {
  status: 'ready',
  isCluster: false,
  evalshaBuffer: () => 1,
  evalBuffer: () => 1,
  del: () => 1,
};
const NODES = { cluster: [{ host: 'localhost', port: 7000 }] };

/** The options; throws their errors as the start does. */
function resolveOptions(given: unknown): ResolvedOptions {
  const options = resolve(given);
  return new Mistakes(options.errors?.values()).orThrow(options);
}

describe('resolveOptions', () => {
  it('fills in every default', () => {
    expect(resolveOptions({})).toEqual(DEFAULT_OPTIONS);
  });

  it('treats undefined as not given', () => {
    const names = [
      ...Object.keys(DEFAULT_OPTIONS).filter((name) => name !== 'hashKey' && name !== 'isSkipped'),
      'hashKeys',
      'skipAddresses',
      'skipUserAgents',
    ];
    expect(resolveOptions(Object.fromEntries(names.map((name) => [name, undefined])))).toEqual({
      ...DEFAULT_OPTIONS,
      memoryReason: 'unset',
    });
  });

  it.each([
    [{}, undefined],
    [{ redis: undefined }, 'unset'],
    [
      new (class {
        get redis() {
          return undefined;
        }
      })(),
      'unset',
    ],
    [{ redis: false }, 'chosen'],
    [{ redis: 'redis://localhost' }, undefined],
  ])('of %p knows why counters are in memory: %s', (given, memoryReason) => {
    expect(resolveOptions(given).memoryReason).toBe(memoryReason);
  });

  it('makes redis: false the memory of this process', () => {
    expect(resolveOptions({ redis: false }).redis).toBeUndefined();
  });

  it('keeps what is given', () => {
    const given = {
      redis: { cluster: [{ host: 'localhost', port: 7000 }], options: { redisOptions: { db: 0 } } },
      rules: [{ window: '1m', limit: 5 }, 'login'],
      namedRules: { login: { window: '15m', limit: 5 } },
      defaultKey: ['{user.id}', () => 'tenant'],
      namespace: 'shop:eu-1.a_b',
      onMissingKey: 'deny',
      countDenied: true,
      algorithm: 'sliding-window',
      skipIf: () => true,
      headers: 'both',
      partitionKeys: false,
      errorFormat: 'problem',
      message: 'slow down',
      exceptionFactory: () => new Error('slow down'),
      onVerdict: () => undefined,
      onDenied: () => undefined,
      contextAdapters: { ws: { isClientFacing: true, address: () => '192.0.2.1' } },
      ipv6Subnet: 128,
      maxCounters: 1,
      timeoutMs: 60_000,
      onStoreError: 'deny',
      requireStore: true,
      fallbackShare: 0.25,
      hashTag: () => 'one',
      coalesce: false,
      denyCache: false,
    };
    expect(resolveOptions(given)).toEqual({ ...given, hashKey: plainKey });
  });

  it.each([[{}], [{ redis: undefined }], [{ redis: false }]])(
    'rejects requireStore without redis: %j',
    (options) => {
      expect(thrownBy(() => resolveOptions({ requireStore: true, ...options })).message).toBe(
        'FreqLimitModule: requireStore: needs redis, which is missing, undefined or false; is its environment variable set?',
      );
    },
  );

  it('returns frozen options, and does not change the given ones', () => {
    const rules = [{ window: '1m', limit: 5 }];
    const given = { rules };
    const resolved = resolveOptions(given);
    expect(Object.isFrozen(resolved)).toBe(true);
    expect(Object.isFrozen(resolved.rules)).toBe(true);
    expect(Object.isFrozen(rules)).toBe(false);
    rules.push({ window: '1d', limit: 1 });
    expect(resolved.rules).toHaveLength(1);
    expect(given).toEqual({ rules });
  });

  it.each([['draft'], ['draft-12'], ['draft-11'], ['legacy'], ['both'], ['retry-after'], ['none']])(
    'accepts the headers %s',
    (headers) => {
      expect(resolveOptions({ headers }).headers).toBe(headers);
    },
  );

  it.each([['memory'], ['allow'], ['deny']])('accepts onStoreError %s', (onStoreError) => {
    expect(resolveOptions({ onStoreError }).onStoreError).toBe(onStoreError);
  });

  it.each([[1], [0.5], [0.001], [Number.MIN_VALUE]])('accepts %d as fallbackShare', (fallbackShare) => {
    expect(resolveOptions({ fallbackShare }).fallbackShare).toBe(fallbackShare);
  });

  it.each<[string, unknown]>([
    ['nodes', { cluster: ['redis://localhost:7000'] }],
    ['a Cluster client', new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })],
    ['a Cluster client of another copy', { ...CLIENT, isCluster: true }],
  ])('accepts hashTag with a Redis Cluster, given as %s', (_, redis) => {
    const hashTag = (): string => 'one';
    expect(resolveOptions({ redis, hashTag })).toMatchObject({ redis, hashTag });
  });
});

const of = (option: string, expected: string, ...values: unknown[]): [string, unknown, string][] =>
  values.map((value) => [option, value, expected]);

describe('a wrong option', () => {
  it.each([
    ...of(
      'redis',
      'ioredis options with host, port, path or sentinels, { cluster: [nodes], options }, an ioredis client, or false to count in the memory of this process',
      null,
      5,
      {},
      true,
      'localhost:6379',
      [],
    ),
    ...of('redis', 'is an environment variable such as REDIS_URL empty?', '', ' '),
    ...of('redis', 'is not a list of nodes', { cluster: [] }, { cluster: {} }),
    ...of('redis', 'it belongs in options', { ...NODES, password: 'x' }),
    ...of('rules', 'is not a list of rules', null, {}, 'rules', 5, { window: '1m', limit: 1 }),
    ...of('defaultKey', 'is not a key', null, 5, {}, [], ''),
    ...of('defaultKey', "for the value write '{ip}'", 'ip'),
    ...of('defaultKey', 'placeholders begin with ip, user', '{session.id}'),
    ...of(
      'namespace',
      'a string of 1 to 32 characters A-Z a-z 0-9 . _ : -',
      null,
      '',
      'a b',
      'x{y}',
      'ü',
      'x'.repeat(33),
      5,
      'a\n',
    ),
    ...of('onMissingKey', "one of 'ip', 'skip', 'deny'", null, 'allow', '', true),
    ...of('countDenied', 'true or false', null, 'true', 1),
    ...of(
      'algorithm',
      "one of 'fixed-window', 'sliding-window', 'token-bucket'",
      null,
      'sliding',
      'calendar',
      true,
    ),
    ...of('skipIf', 'a function', null, true, 'ip', {}),
    ...of(
      'headers',
      "one of 'draft', 'draft-12', 'draft-11', 'legacy', 'both', 'retry-after', 'none'",
      null,
      true,
      false,
      'draft-6',
      ['draft'],
    ),
    ...of('ipv6Subnet', 'a whole number from 32 to 128', null, 31, 129, 64.5, NaN, '64', Infinity),
    ...of(
      'maxCounters',
      'a whole number from 1 to 10000000',
      null,
      0,
      -1,
      1.5,
      10_000_001,
      '5',
      Infinity,
      NaN,
    ),
    ...of('onStoreError', "one of 'memory', 'allow', 'deny'", null, 'open', '', true, 'fallback'),
    ...of('fallbackShare', 'a number above 0 and at most 1', null, 0, -0.5, 1.5, '1', NaN, Infinity, 1n),
    ...of('coalesce', 'true or false', null, 0, 'no'),
    ...of('denyCache', 'true or false', null, 0, 'no'),
    ...of('timeoutMs', 'a whole number from 1 to 60000', null, 0, -1, 60_001, 0.5, '250', Infinity, NaN),
  ])('throws: %s: %p', (option, value, expected) => {
    const error = thrownBy(() => resolveOptions({ [option]: value }));
    expect(isFreqLimitError(error)).toBe(true);
    expect(error.code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
    expect(error.message).toContain(`FreqLimitModule: ${option}: `);
    expect(error.message).toContain(expected);
    expect(error.message).not.toContain('\n');
  });

  it.each([null, 'tag', 5, {}])('throws with a Redis Cluster: hashTag: %p', (hashTag) => {
    const error = thrownBy(() => resolveOptions({ redis: NODES, hashTag }));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
    expect(error.message).toMatch(/^FreqLimitModule: hashTag: .+ is not a function$/);
  });

  it.each([undefined, 'redis://localhost', { host: 'localhost' }, CLIENT, new Redis({ lazyConnect: true })])(
    'throws without a Redis Cluster: hashTag, and redis: %p',
    (redis) => {
      const error = thrownBy(() => resolveOptions({ redis, hashTag: () => 'one' }));
      expect(error.code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
      expect(error.message).toBe(
        'FreqLimitModule: hashTag: is only for a Redis Cluster, and redis is not one; remove hashTag',
      );
    },
  );

  it.each([
    ['prefix', 'namespace'],
    ['keyPrefix', 'namespace'],
    ['limits', 'rules'],
    ['storage', 'redis'],
    ['store', 'redis'],
    ['client', 'redis'],
    ['key', 'defaultKey'],
    ['skip', 'skipIf'],
    ['skipOnError', 'onStoreError'],
    ['passOnStoreError', 'onStoreError'],
    ['insuranceLimiter', 'onStoreError'],
    ['setHeaders', 'headers'],
    ['allowList', 'skipAddresses'],
    ['whitelist', 'skipAddresses'],
    ['ignoreUserAgents', 'skipUserAgents'],
    ['global', 'global next to useFactory, not in its result'],
    ['globalGuard', 'globalGuard next to useFactory, not in its result'],
  ])('throws with a hint: %s → %s', (option, hint) => {
    const error = thrownBy(() => resolveOptions({ [option]: 'x' }));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
    expect(error.message).toContain(`FreqLimitModule: ${option}: is not an option; did you mean ${hint}?`);
  });

  it.each<[string, unknown]>([
    ['an unknown one', { colour: 'red' }],
    ['one of an earlier version', { hashTagBuckets: 256 }],
    ['an unknown one that is undefined', { colour: undefined }],
    ['one named like a method of every object', { toString: 1 }],
    ['an own __proto__', JSON.parse('{"__proto__":{"namespace":"x"}}')],
  ])('throws without a hint: %s', (_, options) => {
    const error = thrownBy(() => resolveOptions(options));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
    expect(error.message).toContain('is not an option (options: redis, namespace, rules,');
  });

  it.each([[null], [undefined], [5], ['redis://localhost'], [[]], [() => ({})]])(
    'throws for %p in place of the options',
    (options) => {
      const error = thrownBy(() => resolveOptions(options));
      expect(error.code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
      expect(error.message).toContain(', not an object with options; return {');
    },
  );

  it('does not hide another, nor one in another object or list', () => {
    const given = {
      colour: 'red',
      contextAdapters: { ws: { adress: () => '', request: 5 }, mqtt: 7, rpc: {} },
      headers: 'yes',
      skipAddresses: ['10.0.0.0/99', '10.0.0.1', 'host'],
      redis: { hots: 'redis', prot: 6379 },
      partitionKeys: true,
      maxCounters: 0,
      throttlers: [],
    };
    const { code, problems } = thrownBy(() => resolveOptions(given));
    expect(code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
    expect(problems.map((line) => line.replace(/ (?:is|needs) .*/, ''))).toEqual([
      'FreqLimitModule: colour:',
      'FreqLimitModule: throttlers:',
      'FreqLimitModule: redis: hots:',
      'FreqLimitModule: redis: prot:',
      'FreqLimitModule: skipAddresses[0]: "10.0.0.0/99"',
      'FreqLimitModule: skipAddresses[2]: "host"',
      'FreqLimitModule: headers: "yes"',
      'FreqLimitModule: contextAdapters.ws: adress:',
      'FreqLimitModule: contextAdapters.ws: request: 5',
      'FreqLimitModule: contextAdapters.mqtt: 7',
      'FreqLimitModule: maxCounters: 0',
      'FreqLimitModule: partitionKeys:',
    ]);
  });

  it('is not a contradiction with another', () => {
    expect(thrownBy(() => resolveOptions({ redis: 5, hashTag: () => 'one' })).problems).toHaveLength(1);
    expect(thrownBy(() => resolveOptions({ hashKeys: 5, partitionKeys: true })).problems).toHaveLength(1);
  });

  it('has its default until the start fails', () => {
    const { errors, ...options } = resolve({ headers: 'yes', namespace: 'shop', rules: 5 });
    expect(options).toEqual({ ...DEFAULT_OPTIONS, namespace: 'shop' });
    expect([...errors!.keys()]).toEqual(['rules', 'headers']);
  });

  it('never shows a password', () => {
    const password = 'hunter2';
    const options = [
      { redis: { password } },
      { redis: `http://u:${password}@host` },
      { redis: `u:${password}@host` },
      { redis: { cluster: [], options: { redisOptions: { password } } } },
      { redis: { cluster: [`redis://u:${password}@host`], password } },
      { redis: { cluster: `redis://u:${password}@host` } },
    ];
    expect(options.map((one) => thrownBy(() => resolveOptions(one)).message).join()).not.toContain(password);
  });
});
