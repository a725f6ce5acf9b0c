import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, CheckResult, OnStoreError } from '../../src/core/check.js';
import type { RedisOption } from 'nestjs-freq-limit';
import { startCluster } from '../support/cluster.js';
import { startServer, type Server } from '../support/server.js';
import { type Accounts, accountsOf, type SentRequest, unexplained } from './accounts.js';
import { chanceOf } from './chance.js';
import { type ClusterStore, countersOn, openStore } from './cluster-store.js';
import { SLACK_MS } from './harness.js';
import { mixedKind, OFFENCES, type Stored } from './kinds.js';
import { TIMEOUT_MS } from './options.js';
import { RefundLedger } from './refund-ledger.js';
import { type TroubledServer, troubledWayTo } from './scene.js';
import { StallClock } from './stall-clock.js';
import { troubleFor } from './troubles.js';
import { refundAll } from '../support/refund-all.js';

const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 8);
const SEED = Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 1e9));
const POLICIES: readonly OnStoreError[] = ['memory', 'allow', 'deny'];
const CLIENTS = 30;
const PACE_MS = 20;
/** The number of requests in a row that share a counter; half of them pass. */
const SHARING = 100;
const SHARED_LIMIT = 50;
/** The share of the allowed requests that is refunded. */
const GIVEN_BACK = 0.3;

/** Servers with faults, and how a store reaches them. */
interface Topology {
  readonly redis: RedisOption;
  readonly servers: readonly Server[];
  readonly ways: readonly TroubledServer[];
  stop(): Promise<void>;
}

const TOPOLOGIES = {
  'one server': async (): Promise<Topology> => {
    const server = await startServer();
    const way = await troubledWayTo(server);
    const stop = async (): Promise<void> => {
      await way.stop();
      await server.stop();
    };
    return { redis: { host: '127.0.0.1', port: way.wire.port }, servers: [server], ways: [way], stop };
  },
  'a Cluster': async (): Promise<Topology> => {
    const cluster = await startCluster();
    const ways = await Promise.all(cluster.primaries.map(troubledWayTo));
    const places = ways.map(({ wire }) => ({ host: '127.0.0.1', port: wire.port }));
    const natMap = Object.fromEntries(
      cluster.nodes.map(({ host, port }, i) => [`${host}:${port}`, places[i]!]),
    );
    const stop = async (): Promise<void> => {
      await Promise.all(ways.map((way) => way.stop()));
      await cluster.stop();
    };
    return { redis: { cluster: places, options: { natMap } }, servers: cluster.primaries, ways, stop };
  },
};

describe('every counter equals its requests minus their refunds', () => {
  it.each(Object.entries(TOPOLOGIES))(
    'on %s during many faults',
    async (name, start) => {
      const topology = await start();
      const ledger = new RefundLedger();
      try {
        const { accounts, counters, longestMs } = await soak(topology, ledger);
        report(name, ledger, accounts, counters);
        expect(unexplained(accounts, counters, SHARED_LIMIT)).toEqual([]);
        expect(accounts.kept).toEqual([]);
        expect(longestMs).toBeLessThanOrEqual(TIMEOUT_MS + SLACK_MS);
        // otherwise the test proves nothing
        expect(ledger.count('given')).toBeGreaterThan(SECONDS * 20);
      } finally {
        ledger.stop();
        await topology.stop();
      }
    },
    SECONDS * 2_000 + 60_000,
  );
});

async function soak({ redis, servers, ways }: Topology, ledger: RefundLedger) {
  process.stdout.write(`soak of refunds: ${SECONDS} s, SOAK_SEED=${SEED}\n`);
  const shop = await openStore(redis);
  const load = startLoad(shop);
  await troubleFor(SECONDS, ways, chanceOf(SEED));
  const requests = await load.stop();
  await ledger.settled();
  // abandoned calls are executed by now, or never
  await sleep(2 * TIMEOUT_MS);
  await shop.store.close();
  return {
    accounts: accountsOf(requests, ledger),
    counters: await unitsOn(servers, shop.namespace),
    longestMs: requests.reduce((most, { waitMs, stallMs }) => Math.max(most, waitMs - stallMs), 0),
  };
}

/** Clients of each policy. A request has its own counter and a shared one, which in a Cluster may be on another server. */
function startLoad(shop: ClusterStore): { stop(): Promise<readonly SentRequest[]> } {
  const requests: SentRequest[] = [];
  const stalls = new StallClock();
  let isStopped = false;
  let number = 0;
  const call = async (onStoreError: OnStoreError): Promise<void> => {
    while (!isStopped) {
      const group = Math.floor(number / SHARING);
      const own = shop.ofKind(mixedKind(number), 'own', String(number), 10, { onStoreError });
      const kind = mixedKind(group + POLICIES.indexOf(onStoreError));
      const shared = shop.ofKind(kind, 'shared', `${onStoreError}-${group}`, SHARED_LIMIT, { onStoreError });
      number++;
      const request = await send(shop, [own, shared], stalls);
      requests.push(request);
      if (Math.random() < GIVEN_BACK) await giveBack(shop, request);
      await sleep(PACE_MS * 2 * Math.random());
    }
  };
  const calling = Array.from({ length: CLIENTS }, (_, i) => call(POLICIES[i % POLICIES.length]!));
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(calling);
      stalls.stop();
      return requests;
    },
  };
}

async function send(
  { store }: ClusterStore,
  checks: readonly Check[],
  stalls: StallClock,
): Promise<SentRequest> {
  const [fromMs, before] = [performance.now(), stalls.totalMs()];
  // a store without slots refunds only checks that were declared settleable
  const results = await Promise.resolve(store.consume(checks, true)).catch((): undefined => undefined);
  const waitMs = performance.now() - fromMs;
  return { checks, results, waitMs, stallMs: stalls.totalMs() - before };
}

async function giveBack({ store }: ClusterStore, { checks, results }: SentRequest): Promise<void> {
  if (results?.every(({ allowed }: CheckResult) => allowed) !== true) return;
  await sleep(20 * Math.random());
  await refundAll(store, checks, results);
}

async function unitsOn(servers: readonly Server[], namespace: string): Promise<Map<string, Stored>> {
  const clients = servers.map(({ port }) => new Redis(port, '127.0.0.1'));
  try {
    const counters = await countersOn(clients, `${namespace}:`);
    expect(counters.filter(({ leftMs }) => leftMs < 0)).toEqual([]);
    return new Map(
      counters
        .filter(({ key }) => !key.endsWith(OFFENCES))
        // the store adds the hash tag
        .map(({ key, used, isBlocked }) => [key.replace(/:\{\d+\}:/, ':'), isBlocked ? 'blocked' : used]),
    );
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** The figures of a soak of hours. */
function report(
  name: string,
  ledger: RefundLedger,
  accounts: Accounts,
  counters: ReadonlyMap<string, Stored>,
): void {
  const { unanswered, withoutStore, byKey } = accounts;
  const own = unanswered.filter((key) => key.includes(':own:'));
  const notCarriedOut = own.filter((key) => counters.has(key)).length;
  const text = [
    `refunds on ${name}: ${byKey.size} counters, ${ledger.count('given')} given back,`,
    `${unanswered.length} without an answer (of ${own.length} that can be identified ${notCarriedOut} not carried out),`,
    `${withoutStore} checks answered without the store`,
  ];
  process.stdout.write(`${text.join(' ')}\n`);
}
