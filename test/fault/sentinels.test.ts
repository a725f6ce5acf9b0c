import { check } from '../support/check.js';
import { until } from '../support/cluster.js';
import { uniqueNamespace } from '../support/redis.js';
import { startSentinels, type TestSentinels } from '../support/sentinel.js';
import { RecordingLog, storeFor } from './load.js';

describe('sentinels of which the first hangs', () => {
  let pair: TestSentinels;

  beforeEach(async () => {
    pair = await startSentinels();
  }, 60_000);
  afterEach(() => pair.stop());

  it('do not keep the store from the primary that the others know', async () => {
    const namespace = uniqueNamespace();
    pair.watchers[0]!.kill('SIGSTOP');
    const redis = { sentinels: pair.sentinels, name: pair.name };
    const store = await storeFor(redis, namespace, new RecordingLog());
    await store.open();
    const visit = [check(`${namespace}:60000:x`, { limit: 1_000 })];
    await until(async () => (await store.consume(visit))[0]!.source === 'store', 5_000);
    expect(store.health().isUp).toBe(true);
    await store.close();
  });
});
