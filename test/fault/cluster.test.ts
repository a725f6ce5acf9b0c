import calculateSlot from 'cluster-key-slot';
import type { Check, OnStoreError } from '../../src/core/check.js';
import { startCluster, type TestCluster, until } from '../support/cluster.js';
import type { Server } from '../support/server.js';
import { booksOf, startLoad, type Visit, visit } from './cluster-load.js';
import { BOUND_MS, callsDuring, type ClusterStore, countersOn, freeze, kill, openStore, thaw } from './cluster-store.js';
import { FaultTable } from './cluster-table.js';

const table = new FaultTable();
const MANY = Number.MAX_SAFE_INTEGER;

let cluster: TestCluster;
const stores: ClusterStore[] = [];

async function open(...args: Parameters<typeof openStore>): Promise<ClusterStore> {
  const opened = await openStore(...args);
  stores.push(opened);
  return opened;
}

const counters = (namespace: string, servers: readonly Server[] = cluster.primaries, prefix = '') =>
  countersOn(servers.map((server) => cluster.client(server)), `${prefix}${namespace}:`);

beforeAll(() => table.begin());
afterEach(async () => {
  await Promise.all(stores.splice(0).map(({ store }) => store.close()));
});

describe('a moving slot', () => {
  beforeAll(async () => {
    const t = performance.now();
    cluster = await startCluster();
    console.log('cluster up', performance.now() - t);
  }, 60_000);
  afterAll(() => cluster.stop());

  it('is unnoticed', async () => {
    const shop = await open({ cluster: cluster.nodes }, { hashTagBuckets: 4 });
    const shared = shop.on('shared', 'everybody', { limit: MANY });
    const slot = shop.slotOf(shared);
    const home = Math.floor((slot * 3) / 16384);
    const load = startLoad(shop, () => shared);
    await new Promise((r) => setTimeout(r, 300));
    const [from, to] = [cluster.primaries[home]!, cluster.primaries[(home + 1) % 3]!];
    for (let i = 0; i < 3; i++) {
      await cluster.moveSlot(slot, from, to);
      await cluster.moveSlot(slot, to, from);
    }
    const { visits, stallMs } = await load.stop();
    const books = booksOf(visits, await counters(shop.namespace));
    console.log(books, stallMs, shop.lines, shop.store.health());
    expect(books.doubled).toBe(0);
  }, 60000);
});
