import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startCluster, type TestCluster } from '../support/cluster.ts';
import { redisUrl, uniqueNamespace } from '../support/redis.ts';
import { Consumer } from './consumer.ts';
import {
  expectCleanInstall,
  expectCounters,
  expectLimits,
  expectOneCopy,
  expectReport,
  SILENT,
} from './expectations.ts';
import { ROOT } from './tarball.ts';

describe('an application with the lowest version of every peer', () => {
  let consumer: Consumer;
  let cluster: TestCluster;
  const namespace = uniqueNamespace();
  const env = { LIMITS_REDIS_URL: redisUrl(), LIMITS_NAMESPACE: namespace };

  beforeAll(async () => {
    [consumer, cluster] = await Promise.all([
      Consumer.install('lowest-peers', 'with-throttler'),
      startCluster({ primaries: 3 }),
    ]);
  });
  afterAll(async () => {
    await consumer.remove();
    await cluster.stop();
  });

  it('has the lowest version of every range', async () => {
    const { peerDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    for (const [peer, range] of Object.entries(peerDependencies as Record<string, string>)) {
      const installed = join(consumer.folder, 'node_modules', peer, 'package.json');
      const { version } = JSON.parse(await readFile(installed, 'utf8'));
      expect(`${peer} ^${version}`).toBe(`${peer} ${range.split(' ||')[0]}`);
    }
  });

  it('installs without a conflict of peers', () => expectCleanInstall(consumer));

  it('compiles', async () => {
    expect(await consumer.compile('tsconfig.json')).toEqual(SILENT);
  });

  it('limits, and ends by itself', async () => {
    expectLimits(expectReport(await consumer.node(['build/main.js'], env)));
    await expectCounters(namespace);
  });

  it('limits through the throttler, and in tests', async () => {
    expect(expectReport(await consumer.node(['build/subpaths.js'], env))).toBe('limited');
    await expectCounters(`${namespace}:throttler`);
  });

  it('gets the same classes by import and by require', async () => {
    expectOneCopy(expectReport(await consumer.node(['build/same-class.js'])));
  });

  it('counts in Redis with every kind of client, auto-pipelining or not', async () => {
    const nodes = cluster.nodes.map(({ host, port }) => `redis://${host}:${port}`).join(' ');
    const answers = expectReport(
      await consumer.node(['build/clients.js'], { ...env, LIMITS_CLUSTER: nodes }),
    ) as object;
    expect(Object.keys(answers)).toHaveLength(12);
    for (const [kind, answer] of Object.entries(answers))
      expect([kind, answer]).toEqual([kind, { allowed: [30, 0, 30], sources: ['store'], isUp: true }]);
  });
});
