import { RedisStore } from '../../src/store/redis/redis-store.js';
import { check } from '../support/check.js';
import { plainClient } from '../support/redis.js';
import { startServer } from '../support/server.js';
import { listeningClock } from '../../src/store/redis/listening-clock.js';
import { quiet } from '../support/subjects.js';

describe('a request that has already waited', () => {
  it('waits only for its remaining time, without effect on other requests', async () => {
    const server = await startServer();
    const client = plainClient(server.url);
    const store = await RedisStore.create(
      { redis: server.url, namespace: 'waiting', timeoutMs: 20_000, coalesce: true, placement: undefined },
      quiet,
    );
    try {
      await store.open();
      const since = (agoMs: number): number => listeningClock.now() - agoMs;
      expect(await store.consume([check('a')], false, since(10))).toMatchObject([{ allowed: true, used: 1 }]);
      await client.client('PAUSE', 1_000, 'ALL');
      const from = performance.now();
      const others = store.consume([check('b')]);
      await expect(store.consume([check('c')], false, since(19_900))).rejects.toMatchObject({
        code: 'FREQ_LIMIT_STORE_FAILED',
      });
      expect(performance.now() - from).toBeLessThan(10_000);
      expect(await others).toMatchObject([{ allowed: true, used: 1 }]);
    } finally {
      await store.close();
      client.disconnect();
      await server.stop();
    }
  });
});
