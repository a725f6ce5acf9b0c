import calculateSlot from 'cluster-key-slot';
import { Cluster } from 'ioredis';
import type { CheckResult } from '../../src/core/check.js';
import { until } from '../support/cluster.js';
import { isExact, sendMany } from './cluster-load.js';
import { callsDuring } from './cluster-store.js';
import {
  clients,
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
import { leftByRefunds, MIXED } from './kinds.js';
import { refundAll } from '../support/refund-all.js';

clusterSuite();

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
      // the server may not know the script
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

    it('takes the slot from the tag only, whatever braces a client sends', async () => {
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

    it('never sends keys of several slots in one call', async () => {
      // servers and load share a machine, which may be busy
      const shop = await open({ cluster: cluster.nodes }, { timeoutMs: 10_000 });
      const requests = await sendMany(shop, 500, (i) =>
        SUBJECTS.slice(i % 5, 20 + (i % 3)).map((subject) => shop.on(`rule-${i % 50}`, `${subject}${i}`)),
      );
      expect(requests.filter((one) => !isExact(one))).toHaveLength(0);
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
      'are in one slot with the keyPrefix %s of a client of the application',
      async (keyPrefix) => {
        const client = new Cluster([...cluster.nodes], {
          keyPrefix,
          retryDelayOnFailover: 0,
          redisOptions: { socketTimeout: 10_000 },
        });
        clients.push(client);
        const shop = await open(client);
        const requests = await sendMany(shop, 500, (i) => [
          ...RULES.map((rule) => shop.on(rule, `{${i}`)),
          shop.on('shared', 'everybody', { limit: MANY }),
        ]);
        expect(requests.filter((one) => !isExact(one))).toHaveLength(0);
        expect(await countersOf(shop, cluster.primaries, keyPrefix)).toHaveLength(500 * RULES.length + 1);
        expect(shop.lines).toEqual([]);
      },
    );

    it('are in the slot of hashTag, and different subjects are decided in one call', async () => {
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
    it('is ready at once, and logs nothing', async () => {
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

  describe('and refunds across slots', () => {
    it.each(MIXED)(
      'leave a counter with exactly the requests that the other one allowed: $name',
      async (kind) => {
        const shop = await open({ cluster: cluster.nodes });
        const [wide, narrow] = [shop.ofKind(kind, 'wide', 'a', MANY), shop.ofKind(kind, 'narrow', 'b', 50)];
        expect(shop.slotOf(wide)).not.toBe(shop.slotOf(narrow));
        const answers = await Promise.all(Array.from({ length: 400 }, () => consume(shop, wide, narrow)));
        const passed = answers.filter((results) => results.every(({ allowed }) => allowed));
        expect(passed).toHaveLength(50);
        expect(await used(shop, narrow)).toBe(50);
        const left = (await used(shop, wide)) - 50;
        expect(left).toBeLessThanOrEqual(leftByRefunds(wide.key));
        expect(left).toBeGreaterThanOrEqual(0);
      },
    );

    it.each(MIXED)(
      'leave no counter of a first request that is denied in another slot: $name',
      async (kind) => {
        const shop = await open({ cluster: cluster.nodes });
        const none = shop.on('none', 'a', { limit: 0 });
        const answers = await Promise.all(
          Array.from({ length: 100 }, (_, i) => consume(shop, shop.ofKind(kind, 'own', String(i), 1), none)),
        );
        expect(answers.flat().filter(({ used: left }) => left !== 0)).toEqual([]);
        expect(await countersOf(shop)).toEqual([]);
      },
    );

    /** Short enough to wait for its end, and longer than a busy machine needs for a few calls. */
    const WINDOW_MS = 1_000;

    /** The kinds whose windows can be short. */
    const SHORT = MIXED.filter(({ name }) => name !== 'calendar');

    it.each(SHORT)(
      'do not change a window that started after the one that was charged: $name',
      async (kind) => {
        const shop = await open({ cluster: cluster.nodes });
        const checks = ['a', 'b'].map((subject) =>
          shop.ofKind(kind, 'short', subject, 5, { windowMs: WINDOW_MS }),
        );
        const results = await shop.store.consume(checks, true);
        await until(async () => (await countersOf(shop)).length === 0);
        await consume(shop, ...checks);
        const before = await countersOf(shop);
        const given = await refundAll(shop.store, checks, results);
        const after = await countersOf(shop);
        expect(before.map(({ used: units }) => units)).toEqual([1, 1]);
        expect(given.map(({ used: units }) => units)).toEqual([1, 1]);
        expect(after.map(({ used: units }) => units)).toEqual([1, 1]);
      },
    );

    it('create no counter after the end of the window, and none falls below 0', async () => {
      const shop = await open({ cluster: cluster.nodes });
      const ended = SHORT.flatMap((kind) =>
        ['a', 'b'].map((subject) =>
          shop.ofKind(kind, 'short', `${kind.name}-${subject}`, 5, { windowMs: WINDOW_MS }),
        ),
      );
      const past = await shop.store.consume(ended, true);
      await until(async () => (await countersOf(shop)).length === 0);
      await refundAll(shop.store, ended, past);
      expect(await countersOf(shop)).toEqual([]);
      const lasting = shop.on('long', 'c', { limit: 5, cost: 3 });
      const results = await shop.store.consume([lasting], true);
      await cluster.client(cluster.primaries[homeOf(shop, lasting)]!).decr(shop.keyOf(lasting));
      for (let i = 0; i < 2; i++) await refundAll(shop.store, [lasting], results);
      expect(await countersOf(shop)).toEqual([]);
    });
  });
});
