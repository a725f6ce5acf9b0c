import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Consumer } from './consumer.ts';
import {
  expectCleanInstall,
  expectDenialsKnown,
  expectLimits,
  expectOneCopy,
  expectReport,
  SILENT,
} from './expectations.ts';

describe('a CommonJS application on Nest 12 and Express, without ioredis', () => {
  let consumer: Consumer;

  beforeAll(async () => {
    consumer = await Consumer.install('memory-nest12');
  });
  afterAll(() => consumer.remove());

  it('installs without a conflict of peers, and without ioredis', async () => {
    await expectCleanInstall(consumer);
    expect(existsSync(join(consumer.folder, 'node_modules/ioredis'))).toBe(false);
  });

  it('compiles: no declaration needs ioredis', async () => {
    expect(await consumer.compile('tsconfig.json')).toEqual(SILENT);
  });

  it('limits, and ends by itself', async () => {
    expectLimits(expectReport(await consumer.node(['build/main.js'])));
  });

  it("finds both subpaths without the throttler and Nest's own testing package", async () => {
    expect(expectReport(await consumer.node(['build/without-peers.js']))).toEqual([true, true]);
  });

  it('warns once in each of several workers', async () => {
    const warning = expect.stringContaining('one of several workers');
    expect(expectReport(await consumer.node(['build/workers.js']))).toEqual([[warning], [warning]]);
  });

  it('fails with the name of the package to install when it counts in Redis', async () => {
    const message = expectReport(await consumer.node(['build/needs-ioredis.js']));
    expect(message).toMatch(/^FREQ_LIMIT_INVALID_OPTIONS: .*ioredis/);
  });

  it('gets the same classes by import and by require', async () => {
    expectOneCopy(expectReport(await consumer.node(['build/same-class.js'])));
  });

  it('limits handlers decorated by another copy of the package', async () => {
    expectDenialsKnown(expectReport(await consumer.node(['build/two-copies.js', 'cjs'])));
  });
});
