import type { Check } from '../../src/core/check.js';
import { check } from '../support/check.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { clusterSubject, type RedisSubject } from '../support/subjects.js';
import { timedCluster } from '../support/timed-subjects.js';
import { describeBlocks } from './blocks.contract.js';
import { describeKinds } from './kinds.contract.js';
import { describeLeases } from './leases.contract.js';
import { describeSameAnswers } from './same-answers.contract.js';
import { describeSameAnswersOfKinds } from './same-answers-of-kinds.contract.js';
import { describeStore } from './store.contract.js';

const HISTORIES = Number(process.env['DIFFERENTIAL_RUNS'] ?? 2_000) / 10;

let cluster: TestCluster;
let subject: RedisSubject;

beforeAll(async () => {
  cluster = await startCluster();
}, 60_000);
afterAll(() => cluster.stop());

async function start(): Promise<RedisSubject> {
  subject = await clusterSubject(cluster.nodes);
  await subject.store.open();
  return subject;
}

async function stop(): Promise<void> {
  const faults = await subject.sweep();
  await subject.stop();
  if (faults.length > 0) throw new Error(`wrong counters: ${faults.join()}`);
}

describeStore('Redis Cluster', start, stop);

describeKinds('Redis Cluster', () => timedCluster(cluster.nodes));
describeBlocks('Redis Cluster', () => timedCluster(cluster.nodes));
describeLeases('Redis Cluster', () => timedCluster(cluster.nodes));

describeSameAnswers('the Redis Cluster store', start, stop, HISTORIES);

// a charge beyond the range of a counter cannot be refunded, as a request in several slots may require
describeSameAnswersOfKinds('the Redis Cluster store', () => timedCluster(cluster.nodes), HISTORIES, {
  isSplit: true,
  hasVast: false,
});

describe('the Redis Cluster store under load', () => {
  beforeAll(start);
  afterAll(stop);

  const WINDOW_MS = 3_600_000;
  const on = (name: string, limit: number): Check =>
    check(`${name}:${WINDOW_MS}:x`, { windowMs: WINDOW_MS, limit });

  it('never exceeds a limit, whatever slots the other limits are in', async () => {
    const requests = Array.from({ length: 1_200 }, (_, i) => [
      on('everybody', 300),
      on(`half-${i % 2}`, 200),
      on(`own-${i}`, 1),
    ]);
    const answers = await Promise.all(requests.map(async (checks) => subject.store.consume(checks)));
    const allowed = answers.filter((results) => results.every((result) => result.allowed));
    expect(allowed.length).toBeLessThanOrEqual(300);
    // denied requests are refunded, so the counters equal the allowed requests
    const [all] = await subject.store.peek([on('everybody', 300)]);
    expect(all!.used).toBe(allowed.length);
    const owns = await subject.store.peek(requests.map((checks) => checks[2]!));
    expect(owns.reduce((sum, { used }) => sum + used, 0)).toBe(allowed.length);
    expect(await subject.sweep()).toEqual([]);
    // and the rest of the limit is still available
    for (let i = allowed.length; i < 300; i++) {
      expect((await subject.store.consume([on('everybody', 300)]))[0]!.allowed).toBe(true);
    }
    expect((await subject.store.consume([on('everybody', 300)]))[0]!.allowed).toBe(false);
  });

  it('is exact if a request is in one slot', async () => {
    const requests = Array.from({ length: 5_000 }, (_, i) => on(`one-${i % 50}`, 7));
    const answers = await Promise.all(requests.map(async (check) => subject.store.consume([check])));
    expect(answers.filter(([result]) => result!.allowed)).toHaveLength(350);
  });
});
