import { redisUrl, uniqueNamespace } from '../support/redis.ts';
import { Consumer } from './consumer.ts';
import {
  expectCleanInstall,
  expectCounters,
  expectDenialsKnown,
  expectLimits,
  expectOneCopy,
  expectReport,
  SILENT,
} from './expectations.ts';

describe('an ES module application on Nest 12, Express and ioredis 6', () => {
  let consumer: Consumer;
  const namespace = uniqueNamespace();
  const env = { LIMITS_REDIS_URL: redisUrl(), LIMITS_NAMESPACE: namespace };

  beforeAll(async () => {
    consumer = await Consumer.install('esm-nest12', 'with-throttler');
  });
  afterAll(() => consumer.remove());

  it('installs without a conflict of peers', () => expectCleanInstall(consumer));

  it('compiles, with clients and clusters of ioredis 5.4, 5.11 and 6 and without a cast', async () => {
    expect(await consumer.compile('tsconfig.json')).toEqual(SILENT);
  });

  it('compiles with the module resolution of bundlers', async () => {
    expect(await consumer.compile('tsconfig.bundler.json')).toEqual(SILENT);
  });

  it('limits, and ends by itself', async () => {
    expectLimits(expectReport(await consumer.node(['build/main.js'], env)));
    await expectCounters(namespace);
  });

  it('limits through the throttler, and in tests', async () => {
    expect(expectReport(await consumer.node(['build/subpaths.js'], env))).toBe('limited');
    await expectCounters(`${namespace}:throttler`);
  });

  it('limits with clients of three versions of ioredis, and leaves them open', async () => {
    const used = { statuses: [200, 429], status: 'ready', answer: 'PONG' };
    const answers = expectReport(await consumer.node(['build/clients.js'], env));
    expect(answers).toEqual({ six: used, five11: used, five4: used });
    for (const name of ['six', 'five11', 'five4']) await expectCounters(`${namespace}:${name}`);
  });

  it('passes its own tests, in Jest in ES module mode', async () => {
    const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
    const own = uniqueNamespace();
    expect(await consumer.jest({ ...env, LIMITS_NAMESPACE: own }, ...flags)).toBe('Tests: 2 passed, 2 total');
    await expectCounters(own);
  });

  it('gets the same classes by import and by require', async () => {
    expectOneCopy(expectReport(await consumer.node(['build/same-class.js'])));
  });

  it.each([
    ['an ES module', 'esm'],
    ['CommonJS', 'cjs'],
  ])('limits handlers decorated by another copy of the package, %s', async (_, kind) => {
    expectDenialsKnown(expectReport(await consumer.node(['build/two-copies.js', kind], env)));
    await expectCounters(`${namespace}:${kind}-global`);
  });

  it.each([
    ['an ES module', 'esm'],
    ['CommonJS', 'cjs'],
  ])('limits by the guard of another copy of the package, %s', async (_, kind) => {
    expectDenialsKnown(expectReport(await consumer.node(['build/two-copies.js', kind, 'guard'], env)));
    await expectCounters(`${namespace}:${kind}-guard`);
  });
});
