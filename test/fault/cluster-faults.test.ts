import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, OnStoreError } from '../../src/core/check.js';
import { until } from '../support/cluster.js';
import type { Server } from '../support/server.js';
import {
  type Books,
  booksOf,
  IN_FLIGHT,
  isExact,
  startLoad,
  type SentRequest,
  sendMany,
} from './cluster-load.js';
import { BOUND_MS, freeze, kill, thaw } from './cluster-store.js';
import {
  cluster,
  clusterSuite,
  consume,
  countersOf,
  homeOf,
  MANY,
  onCluster,
  open,
  sharedOnEach,
  used,
} from './cluster-suite.js';
import { FaultTable } from './cluster-table.js';
import { BLOCK, leftByRefunds, MIXED, mixedKind } from './kinds.js';

const table = new FaultTable();

clusterSuite();
afterAll(() => table.write());

/** The expectations of every fault. */
function expectSound(books: Books): void {
  expect(books).toMatchObject({ doubled: 0, withoutEnd: 0 });
  expect(books.longestForStoreMs).toBeLessThanOrEqual(BOUND_MS);
}

describe('a slot that moves', () => {
  onCluster();

  it('there and back under load affects no request', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = shop.on('shared', 'everybody', { limit: MANY });
    const home = homeOf(shop, shared);
    const [from, to] = [cluster.primaries[home]!, cluster.primaries[(home + 1) % 3]!];
    const load = startLoad(shop, () => shared);
    await until(() => load.requests.length > 500);
    for (let i = 0; i < 3; i++) {
      await cluster.moveSlot(shop.slotOf(shared), from, to, () => sleep(100));
      await cluster.moveSlot(shop.slotOf(shared), to, from, () => sleep(100));
    }
    const requests = await load.stop();
    const books = booksOf(requests, await countersOf(shop));
    table.add(
      'slot moved there and back three times',
      books,
      shop.lines.length,
      books.withoutStoreForMs(load.sinceMs),
    );
    expectSound(books);
    expect(books).toMatchObject({ withoutStore: 0, late: 0, lost: 0, handedOutTwice: 0 });
    expect(await used(shop, shared)).toBe(requests.length);
    expect(shop.lines).toEqual([]);
  });

  it('and stays half moved charges requests of several keys all or none', async () => {
    const shop = await open({ cluster: cluster.nodes }, { hashTag: () => 'moving' });
    const old = Array.from({ length: 8 }, (_, i) => shop.ofKind(mixedKind(i), 'old', String(i), MANY));
    const full = shop.ofKind(BLOCK, 'full', 'x', 1);
    await consume(shop, ...old, full);
    const home = homeOf(shop, full);
    const [from, to] = [cluster.primaries[home]!, cluster.primaries[(home + 1) % 3]!];
    const passes = (i: number): Check[] => [
      ...old,
      ...['a', 'b'].map((name) => shop.ofKind(mixedKind(i), 'new', `${name}${i}`, 1)),
    ];
    const denied = (i: number): Check[] => [...old, shop.on('denied', String(i)), full];
    const passed: SentRequest[] = [];
    const withoutStore: SentRequest[] = [];
    await cluster.moveSlot(shop.slotOf(full), from, to, async () => {
      expect(await cluster.client(to).cluster('COUNTKEYSINSLOT', shop.slotOf(full))).toBe(1);
      const end = performance.now() + 1_000;
      for (let i = 0; performance.now() < end; i += IN_FLIGHT) {
        const [some, others] = await Promise.all([
          sendMany(shop, IN_FLIGHT, (k) => passes(i + k)),
          sendMany(shop, IN_FLIGHT, (k) => denied(i + k)),
        ]);
        passed.push(...some);
        withoutStore.push(...others);
      }
    });
    const all = [...passed, ...withoutStore];
    expect(all.filter((one) => !isExact(one))).toHaveLength(0);
    expect(booksOf(all, []).longestForStoreMs).toBeLessThanOrEqual(BOUND_MS);
    expect(passed.filter(({ results }) => results.some(({ allowed }) => !allowed))).toHaveLength(0);
    expect(withoutStore.filter(({ results }) => results.every(({ allowed }) => allowed))).toHaveLength(0);
    const counters = await countersOf(shop);
    const unitsOf = (rule: string): number[] =>
      counters.filter(({ key }) => key.includes(`:${rule}:`)).map(({ used: units }) => units);
    const areExact = counters
      .filter(({ key }) => key.includes(':old:'))
      .map(({ key, used: units }) => {
        const tooMany = units - passed.length - 1;
        return tooMany >= 0 && tooMany <= leftByRefunds(key);
      });
    expect(areExact).toEqual(old.map(() => true));
    expect(unitsOf('new')).toEqual(Array.from({ length: 2 * passed.length }, () => 1));
    expect(unitsOf('denied')).toEqual([]);
    expect(counters.filter(({ isBlocked }) => isBlocked).map(({ key }) => key)).toEqual([shop.keyOf(full)]);
    expect(counters.filter(({ leftMs }) => leftMs < 0)).toEqual([]);
  });

  it('and stays half moved begins blocks, and lets counters be reset', async () => {
    const shop = await open({ cluster: cluster.nodes }, { hashTag: () => 'reset' });
    // one of them has moved, the others have not
    const checks = [1, 2].flatMap((i) => MIXED.map((kind) => shop.ofKind(kind, kind.name, String(i), 1)));
    await consume(shop, ...checks);
    const home = homeOf(shop, checks[0]!);
    const [from, to] = [cluster.primaries[home]!, cluster.primaries[(home + 1) % 3]!];
    await cluster.moveSlot(shop.slotOf(checks[0]!), from, to, async () => {
      for (const one of checks) {
        const [result] = await consume(shop, one);
        expect(result).toMatchObject({ allowed: false, source: 'store' });
        expect(result!.blocked).toBe(one.block === undefined ? undefined : true);
      }
      await shop.store.reset(checks);
    });
    expect(await countersOf(shop)).toEqual([]);
    expect(shop.lines).toEqual([]);
  });
});

describe('a planned failover', () => {
  onCluster({ replicas: 1 });

  it('answers few requests without the store and loses none', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = sharedOnEach(shop);
    const load = startLoad(shop, (own) => shared[homeOf(shop, own)]!);
    await until(() => load.requests.length > 500);
    const [replica] = cluster.replicas as [Server];
    const sinceMs = performance.now();
    await cluster.client(replica).cluster('FAILOVER');
    await until(async () => (await cluster.client(replica).info('replication')).includes('role:master'));
    await sleep(1_500);
    const requests = await load.stop();
    const primaries = [replica, ...cluster.primaries.slice(1)];
    const books = booksOf(requests, await countersOf(shop, primaries));
    table.add('planned failover', books, shop.lines.length, books.withoutStoreForMs(sinceMs));
    expectSound(books);
    expect(books).toMatchObject({ lost: 0, handedOutTwice: 0 });
    expect(books.withoutStore).toBeLessThanOrEqual(2 * IN_FLIGHT);
    expect(books.late).toBeLessThanOrEqual(IN_FLIGHT);
  });
});

describe('a primary', () => {
  // otherwise a cluster with missing slots serves no slots
  onCluster({ replicas: 1, args: ['--cluster-require-full-coverage', 'no'] });

  it('that hangs during a refund makes no request wait twice', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = sharedOnEach(shop, { onStoreError: 'deny' });
    await consume(shop, ...shared);
    freeze(cluster.primaries[1]!);
    const half = sendMany(shop, 1, () => shared.slice(0, 2));
    await sleep(100);
    freeze(cluster.primaries[0]!);
    const requests = await half;
    cluster.primaries.slice(0, 2).forEach(thaw);
    expect(requests[0]!.results).toEqual([]);
    expect(booksOf(requests, []).longestForStoreMs).toBeLessThanOrEqual(BOUND_MS);
  });

  it('that hangs for a moment is replaced by the policy, and used again soon after', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = sharedOnEach(shop);
    const load = startLoad(shop, (own) => shared[homeOf(shop, own)]!);
    await until(() => load.requests.length > 500);
    freeze(cluster.primaries[0]!);
    await sleep(800);
    thaw(cluster.primaries[0]!);
    const sinceMs = performance.now();
    await sleep(2_500);
    const requests = await load.stop();
    const books = booksOf(requests, await countersOf(shop));
    table.add('primary hangs for 0.8 s', books, shop.lines.length, books.withoutStoreForMs(sinceMs));
    expectSound(books);
    expect(books).toMatchObject({ lost: 0, handedOutTwice: 0 });
    expect(books.withoutStore).toBeGreaterThan(0);
    expect(books.withoutStoreForMs(sinceMs)).toBeLessThanOrEqual(2_000);
    expect(shop.store.health().isUp).toBe(true);
  });

  it('that is killed is replaced by the policy until its replica takes over, and the others go on', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = sharedOnEach(shop);
    const load = startLoad(shop, (own) => shared[homeOf(shop, own)]!);
    await until(() => load.requests.length > 500);
    const sinceMs = performance.now();
    kill(cluster.primaries[0]!);
    await until(() => !shop.store.health().isUp);
    await until(() => shop.store.health().isUp);
    await sleep(1_000);
    const requests = await load.stop();
    const primaries = [cluster.replicas[0]!, ...cluster.primaries.slice(1)];
    const books = booksOf(requests, await countersOf(shop, primaries));
    table.add(
      'primary killed, replica takes over',
      books,
      shop.lines.length,
      books.withoutStoreForMs(sinceMs),
    );
    expectSound(books);
    const others = requests.filter(({ checks }) => homeOf(shop, checks[0]!) !== 0);
    expect(others.filter((one) => !isExact(one))).toHaveLength(0);
    expect(booksOf(others, [])).toMatchObject({ handedOutTwice: 0 });
    expect(books.withoutStoreForMs(sinceMs)).toBeLessThanOrEqual(1_500 + 4_000);
    expect(shop.lines).toEqual([
      expect.stringMatching(/^FREQ_LIMIT_STORE_UNAVAILABLE: Redis is unavailable/),
      expect.stringMatching(/^FREQ_LIMIT_STORE_RECOVERED: Redis is available again/),
    ]);
    expect(shop.lines.join()).not.toContain('NOSCRIPT');
  });
});

describe('an unreachable cluster', () => {
  onCluster();

  const POLICIES: readonly OnStoreError[] = ['memory', 'allow', 'deny'];

  /** 200 requests under each policy, each with its own client, which has worked before. */
  async function sendEach(makeFault: () => void) {
    const shops = await Promise.all(POLICIES.map(() => open({ cluster: cluster.nodes })));
    for (const shop of shops)
      await sendMany(shop, 60, (i) => [shop.ofKind(mixedKind(i), 'own', `before-${i}`, 10)]);
    makeFault();
    return Promise.all(
      shops.map(async (shop, i) => {
        const onStoreError = POLICIES[i]!;
        const shared = sharedOnEach(shop, { onStoreError });
        const checksOf = (k: number): Check[] => [
          shop.ofKind(mixedKind(k), 'own', String(k), 10, { onStoreError }),
          shared[k % 3]!,
        ];
        return { shop, requests: await sendMany(shop, 200, checksOf) };
      }),
    );
  }

  function expectPolicies(answers: readonly { readonly requests: readonly SentRequest[] }[]): void {
    const sources = answers.map(({ requests }) => [
      ...new Set(
        requests.flatMap(({ results }) =>
          results.length === 0 ? ['unavailable'] : results.map(({ source }) => source),
        ),
      ),
    ]);
    expect(sources).toEqual([['memory'], ['allow'], ['unavailable']]);
    expect(answers.map(({ requests }) => requests.length)).toEqual([200, 200, 200]);
  }

  it('that hangs is replaced by every policy in time, and used again', async () => {
    const answers = await sendEach(() => cluster.primaries.forEach(freeze));
    cluster.primaries.forEach(thaw);
    const sinceMs = performance.now();
    for (const { shop } of answers) {
      await until(async () => {
        await sendMany(shop, IN_FLIGHT, (i) => [shop.on('again', String(i))]);
        return shop.store.health().isUp;
      });
    }
    const toNormalMs = performance.now() - sinceMs;
    for (const [i, { shop, requests }] of answers.entries()) {
      const books = booksOf(requests, await countersOf(shop));
      table.add(`all primaries hang, '${POLICIES[i]}'`, books, shop.lines.length, toNormalMs);
      expectSound(books);
      // more requests are sent until five calls of a server have timed out
      expect(books.late).toBeLessThanOrEqual(2 * IN_FLIGHT);
      expect(shop.lines).toHaveLength(2);
    }
    expectPolicies(answers);
    expect(toNormalMs).toBeLessThan(4_000);
  });

  it('that was killed is replaced by every policy in time', async () => {
    const answers = await sendEach(() => cluster.primaries.forEach(kill));
    for (const [i, { shop, requests }] of answers.entries()) {
      const books = booksOf(requests, []);
      table.add(`all primaries killed, '${POLICIES[i]}'`, books, shop.lines.length, NaN);
      expectSound(books);
      expect(shop.lines).toHaveLength(1);
      expect(shop.store.health().isUp).toBe(false);
    }
    expectPolicies(answers);
  });
});
