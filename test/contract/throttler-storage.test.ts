import { jest } from '@jest/globals';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { Test, type TestingModule } from '@nestjs/testing';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import { useMemoryStore, TestClock } from 'nestjs-freq-limit/testing';
import { FreqLimitThrottlerStorage } from 'nestjs-freq-limit/throttler';
import { redisUrl } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';
import { advanceRedis } from '../support/subjects.js';

/** A throttler, and its answers to requests at these moments, in ms. */
interface History {
  readonly ttl: number;
  readonly limit: number;
  readonly block: number;
  readonly requests: readonly (readonly [atMs: number, answer: string])[];
}

// `hits/seconds to the end of the window`, or `blocked for seconds`; only `hits` or `blocked` if the throttler's own storage, which
// does not restart the window after a block, shows other seconds. Moments are not full seconds, since a counter
// exists through its last millisecond, and the clock of the server moves by itself
const HISTORIES: readonly (readonly [string, History])[] = [
  [
    'a block as long as the window',
    {
      ttl: 60_000,
      limit: 2,
      block: 60_000,
      requests: [
        [0, '1/60'],
        [10_500, '2/50'],
        [20_500, 'blocked for 60'],
        [30_000, 'blocked for 51'],
        [61_000, 'blocked for 20'],
        [81_000, '1'],
        [81_000, '2'],
        [81_000, 'blocked for 60'],
      ],
    },
  ],
  [
    'a block longer than the window',
    {
      ttl: 1_000,
      limit: 1,
      block: 60_000,
      requests: [
        [0, '1/1'],
        [0, 'blocked for 60'],
        [5_500, 'blocked for 55'],
        [59_500, 'blocked for 1'],
        [61_000, '1/1'],
        [61_000, 'blocked for 60'],
      ],
    },
  ],
  [
    'a block shorter than the window',
    {
      ttl: 60_000,
      limit: 2,
      block: 5_000,
      requests: [
        [0, '1/60'],
        [0, '2/60'],
        [500, 'blocked for 5'],
        [3_000, 'blocked for 3'],
        // 6 s into the window, which still restarts
        [6_000, '1'],
        [6_000, '2'],
        [6_500, 'blocked for 5'],
        [12_000, '1'],
      ],
    },
  ],
  [
    'a limit of 0',
    {
      ttl: 60_000,
      limit: 0,
      block: 10_000,
      requests: [
        [0, 'blocked for 10'],
        [5_500, 'blocked for 5'],
      ],
    },
  ],
  [
    'a limit of 0 and a block longer than the window',
    {
      ttl: 1_000,
      limit: 0,
      block: 60_000,
      requests: [
        [0, 'blocked for 60'],
        [5_500, 'blocked for 55'],
      ],
    },
  ],
  [
    'no block',
    {
      ttl: 60_000,
      limit: 2,
      block: 0,
      requests: [
        [0, '1/60'],
        [0, '2/60'],
        [10_500, 'blocked for 50'],
        [59_500, 'blocked for 1'],
        [61_000, '1/60'],
      ],
    },
  ],
  [
    'a window that ends before its limit is reached',
    {
      ttl: 10_000,
      limit: 3,
      block: 10_000,
      requests: [
        [0, '1/10'],
        [500, '2/10'],
        [11_000, '1/10'],
        [11_000, '2/10'],
        [11_000, '3/10'],
        [11_500, 'blocked for 10'],
      ],
    },
  ],
  [
    'no limit',
    {
      ttl: 60_000,
      limit: Infinity,
      block: 60_000,
      requests: [
        [0, '1/60'],
        [0, '2/60'],
      ],
    },
  ],
];

// Each hit expires by itself. Sub-windows are 3.75 s long, so no moment is nearer to a change
const SLIDING_HISTORIES: readonly (readonly [string, History])[] = [
  [
    'no block',
    {
      ttl: 60_000,
      limit: 2,
      block: 0,
      requests: [
        [0, '1'],
        [30_000, '2'],
        [45_000, 'blocked'],
        [67_500, '2'],
        [75_000, 'blocked'],
        [97_500, '2'],
        [172_500, '1'],
      ],
    },
  ],
  [
    'a block longer than the window',
    {
      ttl: 60_000,
      limit: 1,
      block: 120_000,
      requests: [
        [0, '1'],
        [30_000, 'blocked for 120'],
        [142_500, 'blocked for 8'],
        [153_750, '1'],
        [153_750, 'blocked for 120'],
      ],
    },
  ],
  [
    'a block shorter than the window',
    {
      ttl: 60_000,
      limit: 1,
      block: 10_000,
      requests: [
        [0, '1'],
        [3_750, 'blocked for 10'],
        [15_000, '1'],
        [15_000, 'blocked for 10'],
      ],
    },
  ],
];

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorageService['increment']>>;

function shown(
  { totalHits, timeToExpire, isBlocked, timeToBlockExpire }: ThrottlerRecord,
  expected: string,
): string {
  if (isBlocked) return expected === 'blocked' ? expected : `blocked for ${timeToBlockExpire}`;
  return expected.includes('/') ? `${totalHits}/${timeToExpire}` : String(totalHits);
}

const suite = redisSuite();

describe.each(['memory', 'redis'] as const)('the storage for the throttler, in %s', (kind) => {
  let module: TestingModule;
  let clock: TestClock;
  let storage: FreqLimitThrottlerStorage;
  const answersTo = async (
    { ttl, limit, block, requests }: History,
    counting = storage,
  ): Promise<string[]> => {
    const answers: string[] = [];
    let nowMs = 0;
    for (const [atMs, expected] of requests) {
      await advance(atMs - nowMs);
      nowMs = atMs;
      answers.push(shown(await counting.increment('ann', ttl, limit, block, 'default'), expected));
    }
    return answers;
  };
  const advance = (ms: number): Promise<void> => {
    if (kind === 'redis') return advanceRedis(suite.client, suite.namespace, ms);
    if (ms > 0) clock.advance(ms / 1_000);
    return Promise.resolve();
  };

  beforeEach(async () => {
    clock = new TestClock();
    const { namespace } = suite;
    // countDenied of the module must not affect the throttler; the deny cache does not know the moved time
    const redis = { redis: redisUrl(), denyCache: false, timeoutMs: 5_000 };
    const limits = { namespace, countDenied: true, ...(kind === 'redis' ? redis : {}) };
    const builder = Test.createTestingModule({
      imports: [FreqLimitModule.forRoot({ ...limits, globalGuard: false })],
    });
    module = await (kind === 'memory' ? useMemoryStore(builder, clock) : builder).compile();
    await module.init();
    storage = new FreqLimitThrottlerStorage(module.get(FreqLimitService));
  });
  afterEach(() => module.close());

  it.each(HISTORIES)('returns the hits and times of %s', async (_, history) => {
    expect(await answersTo(history)).toEqual(history.requests.map(([, answer]) => answer));
  });

  it.each(SLIDING_HISTORIES)('returns the hits and times of %s, in sliding windows', async (_, history) => {
    const sliding = new FreqLimitThrottlerStorage(module.get(FreqLimitService), {
      algorithm: 'sliding-window',
    });
    expect(await answersTo(history, sliding)).toEqual(history.requests.map(([, answer]) => answer));
  });

  it('counts the hits of each algorithm separately', async () => {
    const service = module.get(FreqLimitService);
    const storages = [storage, new FreqLimitThrottlerStorage(service, { algorithm: 'sliding-window' })];
    for (const one of storages) {
      for (const isBlocked of [false, true])
        expect((await one.increment('ann', 60_000, 1, 60_000, 'default')).isBlocked).toBe(isBlocked);
    }
  });

  it('keeps a block while handlers with a shorter one count by the same key', async () => {
    const long = (): Promise<ThrottlerRecord> => storage.increment('ann', 60_000, 1, 90_000, 'default');
    const short = (): Promise<ThrottlerRecord> => storage.increment('ann', 60_000, 1, 5_000, 'default');
    for (const isBlocked of [false, true]) {
      for (const send of [long, short]) expect((await send()).isBlocked).toBe(isBlocked);
    }
    await advance(10_000);
    expect([(await long()).timeToBlockExpire, (await short()).isBlocked]).toEqual([80, false]);
  });

  it('shares a block between handlers with different ones, if none is shorter than the window', async () => {
    const send = (block: number): Promise<ThrottlerRecord> =>
      storage.increment('ann', 60_000, 1, block, 'default');
    await send(60_000);
    expect((await send(90_000)).timeToBlockExpire).toBe(90);
    expect((await send(0)).isBlocked).toBe(true);
    expect((await send(120_000)).timeToBlockExpire).toBe(90);
  });

  it('returns one hit above the limit for a blocked request, like the throttler', async () => {
    const send = (): Promise<ThrottlerRecord> => storage.increment('ann', 60_000, 2, 5_000, 'default');
    for (const totalHits of [1, 2]) expect(await send()).toMatchObject({ totalHits, timeToBlockExpire: 0 });
    for (let i = 0; i < 3; i++) expect(await send()).toMatchObject({ totalHits: 3, isBlocked: true });
  });

  it('has separate counters for throttlers and keys, whatever characters they have', async () => {
    const pairs = [
      ['default', 'ann'],
      ['default', 'bob'],
      ['long', 'ann'],
      ['a', 'b|c'],
      ['a|b', 'c'],
      ['a:b', '{c}'],
      ['a', 'b:{c}'],
    ] as const;
    const send = (name: string, key: string): Promise<ThrottlerRecord> =>
      storage.increment(key, 60_000, 1, 60_000, name);
    for (const [name, key] of pairs) expect((await send(name, key)).isBlocked).toBe(false);
    for (const [name, key] of pairs) expect((await send(name, key)).isBlocked).toBe(true);
  });

  it.each([
    ['equal', 60_000],
    ['shorter', 1_000],
    ['longer', 120_000],
    ['none', 0],
  ])('allows ten of a hundred requests at once, block %s', async (_, block) => {
    const requests = Array.from({ length: 100 }, () =>
      storage.increment('ann', 60_000, 10, block, 'default'),
    );
    const records = await Promise.all(requests);
    expect(records.filter(({ isBlocked }) => !isBlocked)).toHaveLength(10);
    for (const { isBlocked, timeToBlockExpire } of records)
      expect(timeToBlockExpire).toBe(isBlocked ? Math.ceil((block || 60_000) / 1_000) : 0);
  });

  it('rejects invalid numbers, and counts nothing', async () => {
    await expect(storage.increment('ann', NaN, 1, 1_000, 'default')).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_CHECK',
    });
    expect(await storage.increment('ann', 1_000, 1, 1_000, 'default')).toMatchObject({ totalHits: 1 });
  });
});

describe('two processes that count for one throttler', () => {
  // the deny cache of one process does not know at once what the other resets, and its clock cannot be moved
  it('allow the same requests before and after a block shorter than the window', async () => {
    const { namespace } = suite;
    const limits = { redis: redisUrl(), namespace, timeoutMs: 5_000 };
    const start = async (): Promise<TestingModule> =>
      (await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile()).init();
    const processes = await Promise.all([start(), start()]);
    const storages = processes.map((process) => new FreqLimitThrottlerStorage(process.get(FreqLimitService)));
    const eightRequests = async (): Promise<number> => {
      const requests = [1, 2, 3, 4].flatMap(() =>
        storages.map((storage) => storage.increment('ann', 60_000, 2, 900, 'default')),
      );
      return (await Promise.all(requests)).filter(({ isBlocked }) => !isBlocked).length;
    };
    expect([await eightRequests(), await eightRequests()]).toEqual([2, 0]);
    await new Promise((resolve) => setTimeout(resolve, 950));
    expect([await eightRequests(), await eightRequests()]).toEqual([2, 0]);
    await Promise.all(processes.map((process) => process.close()));
  });
});

describe("the throttler's own storage", () => {
  let own: ThrottlerStorageService;

  beforeEach(() => {
    own = new ThrottlerStorageService();
  });
  afterEach(() => {
    own.onApplicationShutdown();
  });

  // a window that expires as a whole, and one whose hits expire one by one, are equal only before the first expiry
  it.each([...HISTORIES, ...SLIDING_HISTORIES])(
    'returns the same: %s',
    async (_, { ttl, limit, block, requests }) => {
      const now = jest.spyOn(Date, 'now');
      const answers: string[] = [];
      for (const [atMs, expected] of requests) {
        now.mockReturnValue(atMs);
        answers.push(shown(await own.increment('ann', ttl, limit, block, 'default'), expected));
      }
      expect(answers).toEqual(requests.map(([, answer]) => answer));
    },
  );
});
