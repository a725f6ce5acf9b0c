import { redisSubject, type RedisSubject } from '../support/subjects.js';
import { timedRedis } from '../support/timed-subjects.js';
import { describeSameAnswers } from './same-answers.contract.js';
import { describeSameAnswersOfKinds } from './same-answers-of-kinds.contract.js';

const HISTORIES = Number(process.env['DIFFERENTIAL_RUNS'] ?? 2_000);

let redis: RedisSubject;

describeSameAnswers(
  'the Redis store',
  async () => (redis = await redisSubject()),
  () => redis.stop(),
  HISTORIES,
);

describeSameAnswersOfKinds('the Redis store', () => timedRedis(), HISTORIES);
