import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, CheckResult } from '../../../src/core/check.js';
import { CONCURRENCY } from '../../../src/core/counter-kind.js';
import type { Store } from '../../../src/core/store.js';
import type { LapseReason } from '../../../src/leases/held-leases.js';
import { LeaseKeeper } from '../../../src/leases/lease-keeper.js';
import { until } from '../../support/cluster.js';
import { captureLog, logLine } from '../../support/log.js';
import { result } from '../fixtures.js';

const log = captureLog();
const TIMES = { lifeMs: 150, renewEveryMs: 30 };

type Answer = boolean | undefined;

/** A store that notes what it is called with. */
class FakeStore {
  readonly renewals: string[][] = [];
  readonly releases: string[][] = [];
  answer: (id: string) => Answer | Promise<Answer> = () => true;
  failsToSettle = false;

  readonly renew = async (checks: readonly Check[]): Promise<Answer[]> => {
    this.renewals.push(idsOf(checks));
    return Promise.all(checks.map(async ({ lease }) => this.answer(lease!)));
  };

  readonly settle = async (
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
  ): Promise<readonly CheckResult[]> => {
    if (this.failsToSettle) throw new Error('settle');
    expect(costs).toEqual(checks.map(() => 0));
    this.releases.push(idsOf(checks));
    return Promise.resolve(results);
  };
}

function idsOf(checks: readonly Check[]): string[] {
  return checks.map(({ lease }) => lease!);
}

function checkOf(lease: string): Check {
  return {
    ...{ key: 'fl:a:leases:x', group: 'fl:a:leases:', text: 'x', name: 'a', windowMs: TIMES.lifeMs },
    ...{ kind: CONCURRENCY, limit: 5, cost: 1, lease, block: undefined, countDenied: false, shadow: false },
    onStoreError: 'memory',
  };
}

describe('the keeper of leases', () => {
  let store: FakeStore;
  let keeper: LeaseKeeper;
  const hold = (ids: string, parts: { isClaimed?: boolean; onLapsed?: (reason: LapseReason) => void } = {}) =>
    keeper.hold(
      ids.split(' ').map(checkOf),
      ids.split(' ').map(() => result({ concurrency: true })),
      { takenAtMs: keeper.now(), isClaimed: true, ...parts },
    );

  beforeEach(() => {
    store = new FakeStore();
    keeper = new LeaseKeeper(store as unknown as Store, TIMES);
  });
  afterEach(() => keeper.close());

  it('renews all leases in one call, again and again, as long as they are held', async () => {
    const one = hold('a');
    hold('b c');
    await until(() => store.renewals.length === 2);
    expect(store.renewals).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
    one.release();
    await until(() => store.renewals.length === 3);
    expect(store.renewals[2]).toEqual(['b', 'c']);
  });

  it('releases each lease once', async () => {
    const leases = hold('a b');
    leases.release();
    leases.release();
    await sleep(5);
    await keeper.close();
    expect(store.releases).toEqual([['a', 'b']]);
  });

  it('has a timer only while there are some', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const before = timers();
    hold('a').release();
    await sleep(2 * TIMES.renewEveryMs);
    expect(store.renewals).toEqual([]);
    // it does not keep the process alive either
    expect(timers()).toBe(before);
    hold('b');
    await until(() => store.renewals.length === 1);
  });

  it('releases all in one call when it is closed, and says so to the work that has them', async () => {
    const reasons: string[] = [];
    hold('a', { onLapsed: (reason) => reasons.push(reason) });
    const leases = hold('b');
    await keeper.close();
    leases.release();
    expect(reasons).toEqual(['shutdown']);
    expect(store.releases).toEqual([['a', 'b']]);
    await sleep(2 * TIMES.renewEveryMs);
    expect(store.renewals).toEqual([]);
  });

  it('releases at once what it is given after it was closed, and renews nothing', async () => {
    const reasons: string[] = [];
    const given = hold('a', { isClaimed: false });
    await until(() => store.releases.length === 1);
    await keeper.close();
    hold('b', { onLapsed: (reason) => reasons.push(reason) }).release();
    given.claim();
    expect(reasons).toEqual(['shutdown']);
    const { length } = store.renewals;
    await sleep(2 * TIMES.renewEveryMs);
    expect(store.renewals).toHaveLength(length);
    expect(store.releases).toEqual([['a'], ['b']]);
  });

  it.each([undefined, false])(
    'releases again what a late renewal has taken again, answer %s',
    async (answer) => {
      const leases = hold('a');
      let reply: (value: Answer) => void = () => undefined;
      store.answer = () => new Promise((resolve) => (reply = resolve));
      await until(() => store.renewals.length === 1);
      leases.release();
      reply(answer);
      await until(() => store.releases.length === 2);
      expect(store.releases).toEqual([['a'], ['a']]);
    },
  );

  it('does not renew a second time while it waits for the store', async () => {
    hold('a');
    let reply: (value: Answer) => void = () => undefined;
    store.answer = () => new Promise((resolve) => (reply = resolve));
    await sleep(4 * TIMES.renewEveryMs);
    expect(store.renewals).toHaveLength(1);
    reply(true);
    await until(() => store.renewals.length === 2);
    reply(true);
  });

  it('gives up unclaimed leases, and takes them again if they are claimed later', async () => {
    const leases = hold('a', { isClaimed: false });
    await until(() => store.releases.length === 1);
    expect(store.releases).toEqual([['a']]);
    const { length } = store.renewals;
    leases.claim();
    await until(() => store.renewals.length > length);
    leases.release();
    await until(() => store.releases.length === 2);
  });

  it('keeps leases that are claimed in time', async () => {
    const leases = hold('a', { isClaimed: false });
    leases.claim();
    await sleep(4 * TIMES.renewEveryMs);
    expect(store.releases).toEqual([]);
    leases.release();
    expect(store.releases).toEqual([['a']]);
  });

  it('says that a lease has lapsed, and logs one line', async () => {
    const reasons: string[] = [];
    store.answer = (id) => id !== 'b';
    hold('a', { onLapsed: (reason) => reasons.push(`a ${reason}`) });
    hold('b c', { onLapsed: (reason) => reasons.push(`b ${reason}`) });
    await until(() => store.renewals.length === 3);
    expect(reasons).toEqual(['b lapsed']);
    expect(log.lines).toEqual([
      logLine(
        'FREQ_LIMIT_LEASE_LAPSED',
        '1 slot of a rule with concurrency lapsed before this process renewed',
      ),
    ]);
  });

  it('says that a lease may have lapsed when no renewal succeeded for its life', async () => {
    const lapsed: number[] = [];
    store.answer = () => undefined;
    const startMs = keeper.now();
    hold('a', { onLapsed: () => lapsed.push(keeper.now() - startMs) });
    await sleep(TIMES.lifeMs / 2);
    expect(lapsed).toEqual([]);
    await until(() => lapsed.length === 1);
    expect(lapsed[0]).toBeGreaterThan(TIMES.lifeMs - 10);
    expect(log.lines).toEqual([]);
  });

  it('says so in time if a renewal has no answer at all', async () => {
    const lapsed: number[] = [];
    store.answer = () => new Promise(() => undefined);
    const startMs = keeper.now();
    hold('a', { onLapsed: () => lapsed.push(keeper.now() - startMs) });
    await until(() => lapsed.length === 1);
    expect(lapsed[0]).toBeGreaterThan(TIMES.lifeMs - 10);
    expect(store.renewals).toEqual([['a']]);
  });

  it('says nothing if a renewal succeeds in time', async () => {
    const lapsed: unknown[] = [];
    // a life that is longer than a busy machine stops this process
    const times = { lifeMs: 2_000, renewEveryMs: 30 };
    keeper = new LeaseKeeper(store as unknown as Store, times);
    store.answer = () => (store.renewals.length % 3 === 0 ? true : undefined);
    hold('a', { onLapsed: (reason) => lapsed.push(reason) });
    await sleep(times.lifeMs + 500);
    expect(lapsed).toEqual([]);
  });

  it('releases many leases at a shutdown in calls of a bounded size', async () => {
    const ids = Array.from({ length: 600 }, (_, i) => `l${i}`);
    for (const id of ids) hold(id);
    await keeper.close();
    expect(store.releases.map(({ length }) => length)).toEqual([256, 256, 88]);
    expect(store.releases.flat()).toEqual(ids);
  });

  it('survives a store that fails', async () => {
    store.answer = () => Promise.reject(new Error('renew'));
    store.failsToSettle = true;
    const leases = hold('a');
    await until(() => store.renewals.length === 2);
    leases.release();
    await keeper.close();
    expect(log.lines).toEqual([]);
  });

  it('is one for each store', () => {
    const other = new FakeStore() as unknown as Store;
    expect(LeaseKeeper.of(other)).toBe(LeaseKeeper.of(other));
    expect(LeaseKeeper.of(other)).not.toBe(LeaseKeeper.of(new FakeStore() as unknown as Store));
  });
});
