import { jest } from '@jest/globals';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { Test, type TestingModule } from '@nestjs/testing';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import { useMemoryStore, TestClock } from 'nestjs-freq-limit/testing';
import { FreqLimitThrottlerStorage } from 'nestjs-freq-limit/throttler';
import { redisUrl } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';
import { advanceRedis } from '../support/subjects.js';

/** One throttler, and what it answers to visits at these moments, in ms. */
interface History {
  readonly ttl: number;
  readonly limit: number;
  readonly block: number;
  readonly visits: readonly (readonly [atMs: number, answer: string])[];
}

// `hits/seconds to the end of the window`, or `blocked for seconds`; `hits` alone where the throttler's own storage, which
// does not begin the window anew after a block, shows other seconds. Moments lie off the full second, since a counter
// lives through its last millisecond, and the server's clock goes on by itself
const HISTORIES: readonly (readonly [string, History])[] = [
  [
    'a block as long as the window',
    {
      ttl: 60_000,
      limit: 2,
      block: 60_000,
      visits: [
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
      visits: [
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
      visits: [
        [0, '1/60'],
        [0, '2/60'],
        [500, 'blocked for 5'],
        [3_000, 'blocked for 3'],
        // 6 s into the window, which begins anew all the same
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
      visits: [
        [0, 'blocked for 10'],
        [5_500, 'blocked for 5'],
      ],
    },
  ],
  [
    'no block',
    {
      ttl: 60_000,
      limit: 2,
      block: 0,
      visits: [
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
      visits: [
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
      visits: [
        [0, '1/60'],
        [0, '2/60'],
      ],
    },
  ],
];

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorageService['increment']>>;

function told(
  { totalHits, timeToExpire, isBlocked, timeToBlockExpire }: ThrottlerRecord,
  expected: string,
): string {
  if (isBlocked) return `blocked for ${timeToBlockExpire}`;
  return expected.includes('/') ? `${totalHits}/${timeToExpire}` : String(totalHits);
}

const suite = redisSuite();

describe.each(['memory', 'redis'] as const)('the storage for the throttler, in %s', (kind) => {
  let module: TestingModule;
  let clock: TestClock;
  let storage: FreqLimitThrottlerStorage;
  const advance = (ms: number): Promise<void> => {
    if (kind === 'redis') return advanceRedis(suite.client, suite.namespace, ms);
    if (ms > 0) clock.advance(ms / 1_000);
    return Promise.resolve();
  };

  beforeEach(async () => {
    clock = new TestClock();
    const { namespace } = suite;
    // the module's own countDenied is none of the throttler's business; what is remembered knows nothing of moved time
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

  it.each(HISTORIES)('answers as it should: %s', async (_, { ttl, limit, block, visits }) => {
    const answers: string[] = [];
    let nowMs = 0;
    for (const [atMs, expected] of visits) {
      await advance(atMs - nowMs);
      nowMs = atMs;
      answers.push(told(await storage.increment('ann', ttl, limit, block, 'default'), expected));
    }
    expect(answers).toEqual(visits.map(([, answer]) => answer));
  });

  it('says of a blocked visit what the throttler shows: one hit too many', async () => {
    const visit = (): Promise<ThrottlerRecord> => storage.increment('ann', 60_000, 2, 5_000, 'default');
    for (const totalHits of [1, 2]) expect(await visit()).toMatchObject({ totalHits, timeToBlockExpire: 0 });
    for (let i = 0; i < 3; i++) expect(await visit()).toMatchObject({ totalHits: 3, isBlocked: true });
  });

  it('keeps throttlers and keys apart, whatever they look like', async () => {
    const pairs = [
      ['default', 'ann'],
      ['default', 'bob'],
      ['long', 'ann'],
      ['a', 'b|c'],
      ['a|b', 'c'],
      ['a:b', '{c}'],
      ['a', 'b:{c}'],
    ] as const;
    const visit = (name: string, key: string): Promise<ThrottlerRecord> =>
      storage.increment(key, 60_000, 1, 60_000, name);
    for (const [name, key] of pairs) expect((await visit(name, key)).isBlocked).toBe(false);
    for (const [name, key] of pairs) expect((await visit(name, key)).isBlocked).toBe(true);
  });

  it.each([
    ['equal', 60_000],
    ['shorter', 1_000],
    ['longer', 120_000],
    ['none', 0],
  ])('lets ten of a hundred pass that come at once, block %s', async (_, block) => {
    const visits = Array.from({ length: 100 }, () => storage.increment('ann', 60_000, 10, block, 'default'));
    const records = await Promise.all(visits);
    expect(records.filter(({ isBlocked }) => !isBlocked)).toHaveLength(10);
    for (const { isBlocked, timeToBlockExpire } of records)
      expect(timeToBlockExpire).toBe(isBlocked ? Math.ceil((block || 60_000) / 1_000) : 0);
  });

  it('refuses numbers that are none, and counts nothing', async () => {
    await expect(storage.increment('ann', NaN, 1, 1_000, 'default')).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_CHECK',
    });
    expect(await storage.increment('ann', 1_000, 1, 1_000, 'default')).toMatchObject({ totalHits: 1 });
  });
});

describe('two processes that count for one throttler', () => {
  // the deny cache of one does not see at once what the other forgets; its time is the process's own, and cannot be moved
  it('let the same visits pass before and after a block shorter than the window', async () => {
    const { namespace } = suite;
    const limits = { redis: redisUrl(), namespace, timeoutMs: 5_000 };
    const start = async (): Promise<TestingModule> =>
      (await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile()).init();
    const processes = await Promise.all([start(), start()]);
    const storages = processes.map((process) => new FreqLimitThrottlerStorage(process.get(FreqLimitService)));
    const eightVisits = async (): Promise<number> => {
      const visits = [1, 2, 3, 4].flatMap(() =>
        storages.map((storage) => storage.increment('ann', 60_000, 2, 900, 'default')),
      );
      return (await Promise.all(visits)).filter(({ isBlocked }) => !isBlocked).length;
    };
    expect([await eightVisits(), await eightVisits()]).toEqual([2, 0]);
    await new Promise((resolve) => setTimeout(resolve, 950));
    expect([await eightVisits(), await eightVisits()]).toEqual([2, 0]);
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

  // a window that ends as a whole, and one whose hits end each for itself, are alike only while none of them ends
  it.each(HISTORIES)('answers the same: %s', async (_, { ttl, limit, block, visits }) => {
    const now = jest.spyOn(Date, 'now');
    const answers: string[] = [];
    for (const [atMs, expected] of visits) {
      now.mockReturnValue(atMs);
      answers.push(told(await own.increment('ann', ttl, limit, block, 'default'), expected));
    }
    expect(answers).toEqual(visits.map(([, answer]) => answer));
  });
});
