import type { Check } from '../../src/core/check.js';
import { check } from '../support/check.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { clusterSubject, type RedisSubject } from '../support/subjects.js';
import { describeSameAnswers } from './same-answers.contract.js';
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
  if (faults.length > 0) throw new Error(`counters that must not be: ${faults.join()}`);
}

describeStore('Redis Cluster', start, stop);

describeSameAnswers('the Redis Cluster store', start, stop, HISTORIES);

describe('the Redis Cluster store under load', () => {
  beforeAll(start);
  afterAll(stop);

  const WINDOW_MS = 3_600_000;
  const on = (name: string, limit: number): Check =>
    check(`${name}:${WINDOW_MS}:x`, { windowMs: WINDOW_MS, limit });

  it('never lets pass more than a limit, in whatever slots the others lie', async () => {
    const visits = Array.from({ length: 1_200 }, (_, i) => [
      on('everybody', 300),
      on(`half-${i % 2}`, 200),
      on(`own-${i}`, 1),
    ]);
    const answers = await Promise.all(visits.map(async (visit) => subject.store.consume(visit)));
    const allowed = answers.filter((results) => results.every((result) => result.allowed));
    expect(allowed.length).toBeLessThanOrEqual(300);
    // what was denied is given back: the counters hold exactly what has passed
    const [all] = await subject.store.peek([on('everybody', 300)]);
    expect(all!.used).toBe(allowed.length);
    const owns = await subject.store.peek(visits.map((visit) => visit[2]!));
    expect(owns.reduce((sum, { used }) => sum + used, 0)).toBe(allowed.length);
    expect(await subject.sweep()).toEqual([]);
    // and what is left can still be had
    for (let i = allowed.length; i < 300; i++) {
      expect((await subject.store.consume([on('everybody', 300)]))[0]!.allowed).toBe(true);
    }
    expect((await subject.store.consume([on('everybody', 300)]))[0]!.allowed).toBe(false);
  });

  it('is exact where a request lies in one slot', async () => {
    const visits = Array.from({ length: 5_000 }, (_, i) => on(`one-${i % 50}`, 7));
    const answers = await Promise.all(visits.map(async (visit) => subject.store.consume([visit])));
    expect(answers.filter(([result]) => result!.allowed)).toHaveLength(350);
  });
});
