import { Test } from '@nestjs/testing';
import { Mailer, MailerModule } from '../../examples/service/mailer.js';
import {
  type FreqLimitError,
  FreqLimitModule,
  type FreqLimitOptions,
  FreqLimitService,
} from 'nestjs-freq-limit';
import { redisSuite } from '../support/redis-suite.js';
import { redisUrl } from '../support/redis.js';
import { freePort } from '../support/server.js';

const suite = redisSuite();
const ENOUGH = 50_000;
const check = { key: 'a', window: '1m', limit: 1 } as const;

async function start(options: FreqLimitOptions) {
  const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(options)] }).compile();
  module.useLogger(false);
  await module.init();
  return { limits: module.get(FreqLimitService), close: () => module.close() };
}

const STORES: readonly [string, () => Promise<FreqLimitOptions>][] = [
  ['memory', () => Promise.resolve({})],
  [
    'the deny cache',
    () => Promise.resolve({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 }),
  ],
  [
    'a Redis that is away',
    async () => ({ redis: { host: '127.0.0.1', port: await freePort() }, timeoutMs: 5_000 }),
  ],
];

describe.each(STORES)('a loop of calls to %s', (_, optionsOf) => {
  it.each(['consume', 'peek'] as const)('lets timers and sockets run, by %s', async (method) => {
    const { limits, close } = await start(await optionsOf());
    await limits.consume(check);
    const timer = { isOver: false };
    const handle = setTimeout(() => (timer.isOver = true), 1);
    let times = 0;
    while (!timer.isOver && times < ENOUGH && !(await limits[method](check)).allowed) times++;
    clearTimeout(handle);
    expect(timer.isOver).toBe(true);
    await close();
  });
});

it('a loop of calls that fail leaves no rejection without a handler', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const redis = { host: '127.0.0.1', port: await freePort() };
  const { limits, close } = await start({ redis, onStoreError: 'deny' });
  const codes = new Set<unknown>();
  for (let i = 0; i < 4_100; i++) {
    await limits.consume(check).catch((error: unknown) => codes.add((error as FreqLimitError).code));
  }
  process.off('unhandledRejection', note);
  expect(codes).toEqual(new Set(['FREQ_LIMIT_STORE_FAILED']));
  expect(unhandled).toEqual([]);
  await close();
});

it('the example waits for its turn', async () => {
  const module = await Test.createTestingModule({ imports: [MailerModule] }).compile();
  await module.init();
  const mailer = module.get(Mailer);
  const startMs = performance.now();
  await Promise.all(['a', 'b', 'c'].map((mail) => mailer.send(mail)));
  expect(mailer.sent.sort()).toEqual(['a', 'b', 'c']);
  expect(performance.now() - startMs).toBeGreaterThan(900);
  await module.close();
});
