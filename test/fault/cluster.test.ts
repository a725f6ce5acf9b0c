import calculateSlot from 'cluster-key-slot';
import { Cluster } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, CheckResult, OnStoreError } from '../../src/core/check.js';
import { type ClusterOptions, startCluster, type TestCluster, until } from '../support/cluster.js';
import type { Server } from '../support/server.js';
import { type Books, booksOf, IN_FLIGHT, isExact, startLoad, type Visit, visitMany } from './cluster-load.js';
import {
  BOUND_MS,
  callsDuring,
  type ClusterStore,
  type Counter,
  countersOn,
  freeze,
  kill,
  openStore,
  thaw,
} from './cluster-store.js';
import { FaultTable } from './cluster-table.js';

const SLOTS_EACH = 5_462;
/** So many that none is denied. */
const MANY = 1e9;

const table = new FaultTable();
let cluster: TestCluster;
const opened: ClusterStore[] = [];
const clients: Cluster[] = [];

async function open(...args: Parameters<typeof openStore>): Promise<ClusterStore> {
  const shop = await openStore(...args);
  opened.push(shop);
  return shop;
}

function onCluster(options?: ClusterOptions): void {
  beforeAll(async () => {
    cluster = await startCluster(options);
  }, 60_000);
  afterAll(() => cluster.stop());
}

function countersOf(
  { namespace }: ClusterStore,
  servers = cluster.primaries,
  prefix = '',
): Promise<Counter[]> {
  return countersOn(
    servers.map((server) => cluster.client(server)),
    `${prefix}${namespace}:`,
  );
}

/** The primary of a check, while the slots are as they were at the start. */
function homeOf(shop: ClusterStore, one: Check): number {
  return Math.floor(shop.slotOf(one) / SLOTS_EACH);
}

/** A shared counter on each primary. */
function sharedOnEach(shop: ClusterStore, parts: Partial<Check> = {}): Check[] {
  const candidates = Array.from({ length: 100 }, (_, i) =>
    shop.on('shared', `s${i}`, { limit: MANY, ...parts }),
  );
  return cluster.primaries.map((_, home) => candidates.find((one) => homeOf(shop, one) === home)!);
}

async function consume({ store }: ClusterStore, ...checks: Check[]): Promise<CheckResult[]> {
  return store.consume(checks);
}

async function used({ store }: ClusterStore, one: Check): Promise<number> {
  const [result] = await store.peek([one]);
  return result!.used;
}

/** What holds of every fault. */
function expectSound(books: Books): void {
  expect(books).toMatchObject({ doubled: 0, withoutEnd: 0 });
  expect(books.longestForStoreMs).toBeLessThanOrEqual(BOUND_MS);
}

afterAll(() => table.write());
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ store }) => store.close()));
  for (const client of clients.splice(0)) client.disconnect();
});

describe('a sound cluster', () => {
  onCluster();

  describe('and its keys', () => {
    const LONG = 'x'.repeat(5_000);
    const SUBJECTS = [
      ...['', ' ', '{', '}', '{}', '}{', '{}{}', '{x}', 'a{b}c', '{{a}}', '}a{b}'],
      ...['\0', '\r\n', '*', ':', '日本', 'é', 'e\u0301', '\u{1F600}', '\ud800', '__proto__', LONG],
    ];
    const RULES = ['minute', 'day', 'month'];

    it.each(SUBJECTS)('decides all checks of the subject %j in one call', async (subject) => {
      const shop = await open({ cluster: cluster.nodes });
      const checks = RULES.map((rule) => shop.on(rule, subject, { limit: 1 }));
      const home = cluster.primaries[homeOf(shop, checks[0]!)]!;
      // the script may be new to the server
      await consume(shop, shop.on('other', subject));
      const results: CheckResult[] = [];
      const calls = await callsDuring(cluster.client(home), async () => {
        results.push(...(await consume(shop, ...checks)));
      });
      expect(results.map(({ source, allowed }) => [source, allowed])).toEqual(
        RULES.map(() => ['store', true]),
      );
      expect(calls.map((words) => Number(words[2]))).toEqual([RULES.length]);
      expect((await consume(shop, ...checks)).map(({ allowed }) => allowed)).toEqual(RULES.map(() => false));
    });

    it('takes the slot from the tag alone, whatever braces a caller sends', async () => {
      const shop = await open({ cluster: cluster.nodes });
      await consume(shop, ...SUBJECTS.map((subject) => shop.on('day', subject)));
      const { key: head } = shop.on('day', '');
      const tags = new RegExp(`^${shop.namespace}:\\{(\\d{1,3})\\}${head.slice(shop.namespace.length)}`);
      const keys = (await countersOf(shop)).map(({ key }) => key);
      expect(keys).toHaveLength(SUBJECTS.length);
      const slots = await Promise.all(
        keys.map((key) => cluster.client(cluster.primaries[0]!).cluster('KEYSLOT', key)),
      );
      expect(slots).toEqual(keys.map((key) => calculateSlot(tags.exec(key)?.[1] ?? 'no tag')));
    });

    it('never asks one server for keys of several slots', async () => {
      const shop = await open({ cluster: cluster.nodes });
      const visits = await visitMany(shop, 500, (i) =>
        SUBJECTS.slice(i % 5, 20 + (i % 3)).map((subject) => shop.on(`rule-${i % 50}`, `${subject}${i}`)),
      );
      expect(visits.filter((one) => !isExact(one))).toHaveLength(0);
      expect(shop.lines).toEqual([]);
    });

    it('spreads subjects over nearly all tags', async () => {
      const shop = await open({ cluster: cluster.nodes });
      const slots = Array.from({ length: 5_000 }, (_, i) =>
        shop.slotOf(shop.on('sms', `+79${100_000 + 7 * i}`)),
      );
      expect(new Set(slots).size).toBeGreaterThanOrEqual(200);
    });

    it.each(['app{x:', 'app:'])(
      'lie in one slot behind the keyPrefix %s of a client handed in',
      async (keyPrefix) => {
        const client = new Cluster([...cluster.nodes], {
          keyPrefix,
          retryDelayOnFailover: 0,
          redisOptions: { socketTimeout: 10_000 },
        });
        clients.push(client);
        const shop = await open(client);
        const visits = await visitMany(shop, 500, (i) => [
          ...RULES.map((rule) => shop.on(rule, `{${i}`)),
          shop.on('shared', 'everybody', { limit: MANY }),
        ]);
        expect(visits.filter((one) => !isExact(one))).toHaveLength(0);
        expect(await countersOf(shop, cluster.primaries, keyPrefix)).toHaveLength(500 * RULES.length + 1);
        expect(shop.lines).toEqual([]);
      },
    );

    it('lie where hashTag wants them, and unlike subjects are decided in one call', async () => {
      const shop = await open({ cluster: cluster.nodes }, { hashTag: () => 'all' });
      const checks = Array.from({ length: 20 }, (_, i) => shop.on(`rule-${i}`, `{subject-${i}}`));
      const home = cluster.primaries[homeOf(shop, checks[0]!)]!;
      await consume(shop, shop.on('other', 'x'));
      const calls = await callsDuring(cluster.client(home), () => consume(shop, ...checks));
      expect(calls.map((words) => Number(words[2]))).toEqual([20]);
      expect(await countersOf(shop, [home])).toHaveLength(21);
    });
  });

  describe('and a client', () => {
    it('is ready at once, and tells of no trouble where there is none', async () => {
      const waitsMs: number[] = [];
      for (let i = 0; i < 30; i++) {
        const sinceMs = performance.now();
        const shop = await open({ cluster: cluster.nodes });
        waitsMs.push(performance.now() - sinceMs);
        expect(await consume(shop, ...sharedOnEach(shop))).toHaveLength(3);
        expect(shop.lines).toEqual([]);
      }
      expect(Math.max(...waitsMs)).toBeLessThan(900);
    });
  });

  describe('and giving back across slots', () => {
    it('leaves the one counter with exactly what the other let pass', async () => {
      const shop = await open({ cluster: cluster.nodes });
      const [wide, narrow] = [shop.on('wide', 'a', { limit: MANY }), shop.on('narrow', 'b', { limit: 50 })];
      expect(shop.slotOf(wide)).not.toBe(shop.slotOf(narrow));
      const answers = await Promise.all(Array.from({ length: 400 }, () => consume(shop, wide, narrow)));
      const passed = answers.filter((results) => results.every(({ allowed }) => allowed));
      expect(passed).toHaveLength(50);
      expect([await used(shop, wide), await used(shop, narrow)]).toEqual([50, 50]);
    });

    it('leaves no trace of a visit that was the first and is denied elsewhere', async () => {
      const shop = await open({ cluster: cluster.nodes });
      const none = shop.on('none', 'a', { limit: 0 });
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, i) => consume(shop, shop.on('own', String(i)), none)),
      );
      expect(answers.flat().filter(({ used: left }) => left !== 0)).toEqual([]);
      expect(await countersOf(shop)).toEqual([]);
    });

    const WINDOW_MS = 60;

    it('does not touch a window that opened after the one that was charged', async () => {
      const shop = await open({ cluster: cluster.nodes });
      const checks = ['a', 'b'].map((subject) =>
        shop.on('short', subject, { limit: 5, windowMs: WINDOW_MS }),
      );
      const results = await shop.store.consume(checks, true);
      await until(async () => (await countersOf(shop)).length === 0);
      await consume(shop, ...checks);
      const before = await countersOf(shop);
      const given = await shop.store.refund(checks, results);
      const after = await countersOf(shop);
      expect(before.map(({ used: units }) => units)).toEqual([1, 1]);
      expect(given.map(({ used: units }) => units)).toEqual([1, 1]);
      expect(after.map(({ used: units }) => units)).toEqual([1, 1]);
    });

    it('makes no counter when the window has ended, and none falls below nothing', async () => {
      const shop = await open({ cluster: cluster.nodes });
      const ended = ['a', 'b'].map((subject) => shop.on('short', subject, { limit: 5, windowMs: WINDOW_MS }));
      const past = await shop.store.consume(ended, true);
      await until(async () => (await countersOf(shop)).length === 0);
      await shop.store.refund(ended, past);
      expect(await countersOf(shop)).toEqual([]);
      const lasting = shop.on('long', 'c', { limit: 5, cost: 3 });
      const results = await shop.store.consume([lasting], true);
      await cluster.client(cluster.primaries[homeOf(shop, lasting)]!).decr(shop.keyOf(lasting));
      for (let i = 0; i < 2; i++) await shop.store.refund([lasting], results);
      expect(await countersOf(shop)).toEqual([]);
    });
  });

  describe('and a slot that moves', () => {
    it('there and back under load is noticed by nobody', async () => {
      const shop = await open({ cluster: cluster.nodes }, { hashTagBuckets: 4 });
      const shared = shop.on('shared', 'everybody', { limit: MANY });
      const home = homeOf(shop, shared);
      const [from, to] = [cluster.primaries[home]!, cluster.primaries[(home + 1) % 3]!];
      const load = startLoad(shop, () => shared);
      await until(() => load.visits.length > 500);
      for (let i = 0; i < 3; i++) {
        await cluster.moveSlot(shop.slotOf(shared), from, to, () => sleep(100));
        await cluster.moveSlot(shop.slotOf(shared), to, from, () => sleep(100));
      }
      const visits = await load.stop();
      const books = booksOf(visits, await countersOf(shop));
      table.add(
        'slot moved there and back three times',
        books,
        shop.lines.length,
        books.refusedForMs(load.sinceMs),
      );
      expectSound(books);
      expect(books).toMatchObject({ refused: 0, late: 0, lost: 0, handedOutTwice: 0 });
      expect(await used(shop, shared)).toBe(visits.length);
      expect(shop.lines).toEqual([]);
    });

    it('and stays half moved answers requests of several keys, all or none', async () => {
      const shop = await open({ cluster: cluster.nodes }, { hashTag: () => 'moving' });
      const old = Array.from({ length: 8 }, (_, i) => shop.on('old', String(i), { limit: MANY }));
      const full = shop.on('full', 'x');
      await consume(shop, ...old, full);
      const home = homeOf(shop, full);
      const [from, to] = [cluster.primaries[home]!, cluster.primaries[(home + 1) % 3]!];
      const passes = (i: number): Check[] => [...old, shop.on('new', `a${i}`), shop.on('new', `b${i}`)];
      const denied = (i: number): Check[] => [...old, shop.on('denied', String(i)), full];
      const passed: Visit[] = [];
      const refused: Visit[] = [];
      await cluster.moveSlot(shop.slotOf(full), from, to, async () => {
        expect(await cluster.client(to).cluster('COUNTKEYSINSLOT', shop.slotOf(full))).toBe(1);
        const end = performance.now() + 1_000;
        for (let i = 0; performance.now() < end; i += IN_FLIGHT) {
          const [some, others] = await Promise.all([
            visitMany(shop, IN_FLIGHT, (k) => passes(i + k)),
            visitMany(shop, IN_FLIGHT, (k) => denied(i + k)),
          ]);
          passed.push(...some);
          refused.push(...others);
        }
      });
      const all = [...passed, ...refused];
      expect(all.filter((one) => !isExact(one))).toHaveLength(0);
      expect(booksOf(all, []).longestForStoreMs).toBeLessThanOrEqual(BOUND_MS);
      expect(passed.filter(({ results }) => results.some(({ allowed }) => !allowed))).toHaveLength(0);
      expect(refused.filter(({ results }) => results.every(({ allowed }) => allowed))).toHaveLength(0);
      const counters = await countersOf(shop);
      const unitsOf = (rule: string): number[] =>
        counters.filter(({ key }) => key.includes(`:${rule}:`)).map(({ used: units }) => units);
      expect(unitsOf('old')).toEqual(old.map(() => passed.length + 1));
      expect(unitsOf('new')).toEqual(Array.from({ length: 2 * passed.length }, () => 1));
      expect(unitsOf('full')).toEqual([1]);
      expect(unitsOf('denied')).toEqual([]);
    });
  });
});

describe('a planned failover', () => {
  onCluster({ replicas: 1 });

  it('refuses few visits and loses none', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = sharedOnEach(shop);
    const load = startLoad(shop, (own) => shared[homeOf(shop, own)]!);
    await until(() => load.visits.length > 500);
    const [replica] = cluster.replicas as [Server];
    const sinceMs = performance.now();
    await cluster.client(replica).cluster('FAILOVER');
    await until(async () => (await cluster.client(replica).info('replication')).includes('role:master'));
    await sleep(1_500);
    const visits = await load.stop();
    const primaries = [replica, ...cluster.primaries.slice(1)];
    const books = booksOf(visits, await countersOf(shop, primaries));
    table.add('planned failover', books, shop.lines.length, books.refusedForMs(sinceMs));
    expectSound(books);
    expect(books).toMatchObject({ lost: 0, handedOutTwice: 0 });
    expect(books.refused).toBeLessThanOrEqual(2 * IN_FLIGHT);
    expect(books.late).toBeLessThanOrEqual(IN_FLIGHT);
  });
});

describe('a primary', () => {
  // else a cluster that misses some slots takes visits for none
  onCluster({ replicas: 1, args: ['--cluster-require-full-coverage', 'no'] });

  it('that hangs when something is to be given back to it makes nobody wait twice', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = sharedOnEach(shop, { onStoreError: 'deny' });
    await consume(shop, ...shared);
    freeze(cluster.primaries[1]!);
    const half = visitMany(shop, 1, () => shared.slice(0, 2));
    await sleep(100);
    freeze(cluster.primaries[0]!);
    const visits = await half;
    cluster.primaries.slice(0, 2).forEach(thaw);
    expect(visits[0]!.results).toEqual([]);
    expect(booksOf(visits, []).longestForStoreMs).toBeLessThanOrEqual(BOUND_MS);
  });

  it('that hangs for a moment is answered for, and is back soon after', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = sharedOnEach(shop);
    const load = startLoad(shop, (own) => shared[homeOf(shop, own)]!);
    await until(() => load.visits.length > 500);
    freeze(cluster.primaries[0]!);
    await sleep(800);
    thaw(cluster.primaries[0]!);
    const sinceMs = performance.now();
    await sleep(2_500);
    const visits = await load.stop();
    const books = booksOf(visits, await countersOf(shop));
    table.add('primary hangs for 0.8 s', books, shop.lines.length, books.refusedForMs(sinceMs));
    expectSound(books);
    expect(books).toMatchObject({ lost: 0, handedOutTwice: 0 });
    expect(books.refused).toBeGreaterThan(0);
    expect(books.refusedForMs(sinceMs)).toBeLessThanOrEqual(2_000);
    expect(shop.store.health().isUp).toBe(true);
  });

  it('that is killed is answered for until its replica takes over, and the others go on', async () => {
    const shop = await open({ cluster: cluster.nodes });
    const shared = sharedOnEach(shop);
    const load = startLoad(shop, (own) => shared[homeOf(shop, own)]!);
    await until(() => load.visits.length > 500);
    const sinceMs = performance.now();
    kill(cluster.primaries[0]!);
    await until(() => !shop.store.health().isUp);
    await until(() => shop.store.health().isUp);
    await sleep(1_000);
    const visits = await load.stop();
    const primaries = [cluster.replicas[0]!, ...cluster.primaries.slice(1)];
    const books = booksOf(visits, await countersOf(shop, primaries));
    table.add('primary killed, replica takes over', books, shop.lines.length, books.refusedForMs(sinceMs));
    expectSound(books);
    const others = visits.filter(({ checks }) => homeOf(shop, checks[0]!) !== 0);
    expect(others.filter((one) => !isExact(one))).toHaveLength(0);
    expect(booksOf(others, [])).toMatchObject({ handedOutTwice: 0 });
    expect(books.refusedForMs(sinceMs)).toBeLessThanOrEqual(1_500 + 4_000);
    expect(shop.lines).toEqual([
      expect.stringMatching(/^Redis is not asked any more/),
      expect.stringMatching(/^Redis answers again/),
    ]);
    expect(shop.lines.join()).not.toContain('NOSCRIPT');
  });
});

describe('a cluster that is gone as a whole', () => {
  onCluster();

  const POLICIES: readonly OnStoreError[] = ['memory', 'allow', 'deny'];

  /** 200 visits under each policy, each with a client of its own that was well before. */
  async function visitEach(makeFault: () => void) {
    const shops = await Promise.all(POLICIES.map(() => open({ cluster: cluster.nodes })));
    for (const shop of shops) await visitMany(shop, 60, (i) => [shop.on('own', `before-${i}`)]);
    makeFault();
    return Promise.all(
      shops.map(async (shop, i) => {
        const onStoreError = POLICIES[i]!;
        const shared = sharedOnEach(shop, { onStoreError });
        const checksOf = (k: number): Check[] => [
          shop.on('own', String(k), { onStoreError }),
          shared[k % 3]!,
        ];
        return { shop, visits: await visitMany(shop, 200, checksOf) };
      }),
    );
  }

  function expectPolicies(answers: readonly { readonly visits: readonly Visit[] }[]): void {
    const sources = answers.map(({ visits }) => [
      ...new Set(
        visits.flatMap(({ results }) =>
          results.length === 0 ? ['refused'] : results.map(({ source }) => source),
        ),
      ),
    ]);
    expect(sources).toEqual([['memory'], ['allow'], ['refused']]);
    expect(answers.map(({ visits }) => visits.length)).toEqual([200, 200, 200]);
  }

  it('since it hangs is answered for in time under every policy, and found again', async () => {
    const answers = await visitEach(() => cluster.primaries.forEach(freeze));
    cluster.primaries.forEach(thaw);
    const sinceMs = performance.now();
    for (const { shop } of answers) {
      await until(async () => {
        await visitMany(shop, IN_FLIGHT, (i) => [shop.on('again', String(i))]);
        return shop.store.health().isUp;
      });
    }
    const toNormalMs = performance.now() - sinceMs;
    for (const [i, { shop, visits }] of answers.entries()) {
      const books = booksOf(visits, await countersOf(shop));
      table.add(`all primaries hang, '${POLICIES[i]}'`, books, shop.lines.length, toNormalMs);
      expectSound(books);
      // some more are asked until five answers of a server have failed to come
      expect(books.late).toBeLessThanOrEqual(2 * IN_FLIGHT);
      expect(shop.lines).toHaveLength(2);
    }
    expectPolicies(answers);
    expect(toNormalMs).toBeLessThan(4_000);
  });

  it('since it was killed is answered for in time under every policy', async () => {
    const answers = await visitEach(() => cluster.primaries.forEach(kill));
    for (const [i, { shop, visits }] of answers.entries()) {
      const books = booksOf(visits, []);
      table.add(`all primaries killed, '${POLICIES[i]}'`, books, shop.lines.length, NaN);
      expectSound(books);
      expect(shop.lines).toHaveLength(1);
      expect(shop.store.health().isUp).toBe(false);
    }
    expectPolicies(answers);
  });
});
