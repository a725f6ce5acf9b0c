import { check } from '../support/check.js';
import { until } from '../support/cluster.js';
import { clientOf, uniqueNamespace } from '../support/redis.js';
import { startSentinels, type TestSentinels } from '../support/sentinel.js';
import { RecordingLog, storeFor } from './load.js';

describe('sentinels with a first one that hangs', () => {
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
    const checks = [check(`${namespace}:60000:x`, { limit: 1_000 })];
    await until(async () => (await store.consume(checks))[0]!.source === 'store', 5_000);
    expect(store.health().isUp).toBe(true);
    await store.close();
  });
});

describe('a failover that is announced while a client asks a sentinel for the primary', () => {
  let pair: TestSentinels;

  beforeAll(async () => {
    pair = await startSentinels();
  }, 60_000);
  afterAll(() => pair.stop());

  it('does not end the connection for good', async () => {
    const namespace = uniqueNamespace();
    const redis = { sentinels: pair.sentinels, name: pair.name };
    const store = await storeFor(redis, namespace, new RecordingLog());
    await store.open();
    const checks = [check(`${namespace}:60000:x`, { limit: 1_000 })];
    expect((await store.consume(checks))[0]!.source).toBe('store');
    const client = clientOf(store);
    const { connector } = client as unknown as { readonly connector: { disconnect(): void } };
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    client.once('connecting', () => {
      // like the failover detector of ioredis
      connector.disconnect();
    });
    client.disconnect(true);
    await ended;
    await until(async () => (await store.consume(checks))[0]!.source === 'store', 10_000);
    await store.close();
    expect(client.status).toBe('end');
  });
});
