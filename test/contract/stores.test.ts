import { memorySubject, redisSubject, type RedisSubject } from '../support/subjects.js';
import { describeStore } from './store.contract.js';

describeStore(
  'memory',
  () => Promise.resolve(memorySubject()),
  () => Promise.resolve(),
);

let redis: RedisSubject;

describeStore(
  'Redis',
  async () => (redis = await redisSubject()),
  async () => {
    const faults = await redis.sweep();
    await redis.stop();
    if (faults.length > 0) throw new Error(`counters that must not be: ${faults.join()}`);
  },
);
