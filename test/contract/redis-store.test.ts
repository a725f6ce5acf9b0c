import { redisSubject, type RedisSubject } from '../support/subjects.js';
import { timedRedis } from '../support/timed-subjects.js';
import { describeBlocks } from './blocks.contract.js';
import { describeKinds } from './kinds.contract.js';
import { describeLeases } from './leases.contract.js';
import { describePromises } from './promises.contract.js';
import { describeStore } from './store.contract.js';
import { describeWaits } from './waits.contract.js';

let subject: RedisSubject;

describeStore(
  'Redis',
  async () => (subject = await redisSubject()),
  async () => {
    const faults = await subject.sweep();
    await subject.stop();
    if (faults.length > 0) throw new Error(`wrong counters: ${faults.join()}`);
  },
);

describeKinds('Redis', () => timedRedis());
describeBlocks('Redis', () => timedRedis());
describeWaits('Redis', () => timedRedis());
describePromises('Redis', () => timedRedis());
describeLeases('Redis', () => timedRedis());
