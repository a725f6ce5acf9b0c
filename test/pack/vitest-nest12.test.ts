import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { redisUrl, uniqueNamespace } from '../support/redis.ts';
import { Consumer } from './consumer.ts';
import { expectCleanInstall, expectCounters, SILENT } from './expectations.ts';

/** Packages of `nest new` that take no part in building and testing. */
const UNUSED = /^(@nestjs\/(cli|mau|schematics)|@vitest\/coverage-v8|oxlint.*|prettier)$/;

describe('an application that `nest new` of Nest 12 has made, with Vitest', () => {
  let consumer: Consumer;

  beforeAll(async () => {
    consumer = await Consumer.installGenerated('vitest-nest12');
  });
  afterAll(() => consumer.remove());

  async function majors(file: string): Promise<Record<string, string | undefined>> {
    const { dependencies, devDependencies } = JSON.parse(await readFile(join(consumer.folder, file), 'utf8'));
    const versions = Object.entries({ ...dependencies, ...devDependencies } as Record<string, string>);
    return Object.fromEntries(
      versions
        .filter(([name]) => !UNUSED.test(name))
        .map(([name, version]) => [name, /\d+/.exec(version)?.[0]]),
    );
  }

  it('has the packages that `nest new` installs', async () => {
    expect(await majors('package.json')).toMatchObject(await majors('generated.json'));
  });

  it('installs without a conflict of peers', () => expectCleanInstall(consumer));

  it('compiles, with its tests', async () => {
    expect(await consumer.compile('tsconfig.json')).toEqual(SILENT);
  });

  it('passes its unit tests', async () => {
    expect(await consumer.vitest({}, 'vitest.config.ts')).toBe('Tests 1 passed (1)');
  });

  it('passes its end-to-end tests, with fake timers and Redis', async () => {
    const namespace = uniqueNamespace();
    const env = { LIMITS_REDIS_URL: redisUrl(), LIMITS_NAMESPACE: namespace };
    expect(await consumer.vitest(env, 'vitest.config.e2e.ts')).toBe('Tests 6 passed (6)');
    await expectCounters(namespace);
  });
});
