import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
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

describe('a CommonJS application on Nest 11, Fastify and ioredis 5', () => {
  let consumer: Consumer;

  beforeAll(async () => {
    consumer = await Consumer.install('cjs-nest11', 'with-throttler');
  });
  afterAll(() => consumer.remove());

  it('installs without a conflict of peers', () => expectCleanInstall(consumer));

  describe.each([
    ['node16 resolution and esModuleInterop', 'tsconfig.json', 'build/interop'],
    ['node10 resolution and no esModuleInterop', 'tsconfig.plain.json', 'build/plain'],
  ])('with %s', (_, config, build) => {
    const namespace = uniqueNamespace();
    const env = { LIMITS_REDIS_URL: redisUrl(), LIMITS_NAMESPACE: namespace };

    it('compiles', async () => {
      expect(await consumer.compile(config)).toEqual(SILENT);
    });

    it('limits, and ends by itself', async () => {
      expectLimits(expectReport(await consumer.node([`${build}/main.js`], env)));
      await expectCounters(namespace);
    });

    it('limits through the throttler, and in tests', async () => {
      expect(expectReport(await consumer.node([`${build}/subpaths.js`], env))).toBe('limited');
      await expectCounters(`${namespace}:throttler`);
    });

    it('limits handlers decorated by another copy of the package', async () => {
      expectDenialsKnown(expectReport(await consumer.node([`${build}/two-copies.js`, 'cjs'], env)));
      await expectCounters(`${namespace}:cjs-global`);
    });
  });

  it('gets the same classes by import and by require', async () => {
    expectOneCopy(expectReport(await consumer.node(['build/interop/same-class.js'])));
  });

  it('passes its own tests, in Jest in CommonJS mode', async () => {
    const namespace = uniqueNamespace();
    const env = { LIMITS_REDIS_URL: redisUrl(), LIMITS_NAMESPACE: namespace };
    expect(await consumer.jest(env)).toBe('Tests: 3 passed, 3 total');
    await expectCounters(namespace);
  });

  it('limits when it is bundled into one file', async () => {
    const namespace = uniqueNamespace();
    const bundle = join(consumer.folder, 'bundled/main.cjs');
    await mkdir(join(consumer.folder, 'bundled'));
    const esbuild = [
      'node_modules/esbuild/bin/esbuild',
      'build/interop/main.js',
      '--bundle',
      '--platform=node',
      '--external:@nestjs/*',
      '--log-level=warning',
      `--outfile=${bundle}`,
    ];
    expect(await consumer.node(esbuild)).toEqual(SILENT);
    expect(await readFile(bundle, 'utf8')).not.toMatch(/require\("(nestjs-freq-limit|ioredis)/);
    const env = { LIMITS_REDIS_URL: redisUrl(), LIMITS_NAMESPACE: namespace };
    expectLimits(expectReport(await consumer.node([bundle], env)));
    await expectCounters(namespace);
  });
});
