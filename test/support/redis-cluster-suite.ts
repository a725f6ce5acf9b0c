import { Cluster } from 'ioredis';
import { closeApps } from './app.js';
import { startCluster, type TestCluster } from './cluster.js';
import { sweep, uniqueNamespace } from './redis.js';

/** The context of a suite on a Redis Cluster of its own. */
export interface RedisClusterSuite {
  readonly cluster: TestCluster;
  /** A plain client, to inspect the keys of the library. */
  readonly client: Cluster;
  /** The namespace of the running test. */
  readonly namespace: string;
}

/** Starts a Cluster for a file, gives each test its own namespace; closes the applications and checks every counter after each test. */
export function redisClusterSuite(): RedisClusterSuite {
  const suite = { namespace: '' } as { cluster: TestCluster; client: Cluster; namespace: string };
  beforeAll(async () => {
    suite.cluster = await startCluster();
    suite.client = new Cluster([...suite.cluster.nodes]);
  }, 60_000);
  beforeEach(() => {
    suite.namespace = uniqueNamespace();
  });
  afterEach(async () => {
    await closeApps();
    expect(await sweep(suite.client, suite.namespace)).toEqual([]);
  });
  afterAll(async () => {
    await suite.client.quit();
    await suite.cluster.stop();
  });
  return suite;
}
