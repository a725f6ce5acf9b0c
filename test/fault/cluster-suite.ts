import type { Cluster } from 'ioredis';
import type { Check, CheckResult } from '../../src/core/check.js';
import { type ClusterOptions, startCluster, type TestCluster } from '../support/cluster.js';
import { mixedKind } from './kinds.js';
import { type ClusterStore, type Counter, countersOn, openStore } from './cluster-store.js';

const SLOTS_EACH = 5_462;
/** A limit that denies no request. */
export const MANY = 1e9;

/** The Cluster of the running `describe`. */
export let cluster: TestCluster;
const opened: ClusterStore[] = [];
export const clients: Cluster[] = [];

export async function open(...args: Parameters<typeof openStore>): Promise<ClusterStore> {
  const shop = await openStore(...args);
  opened.push(shop);
  return shop;
}

export function onCluster(options?: ClusterOptions): void {
  beforeAll(async () => {
    cluster = await startCluster(options);
  }, 60_000);
  afterAll(() => cluster.stop());
}

export function countersOf(
  { namespace }: ClusterStore,
  servers = cluster.primaries,
  prefix = '',
): Promise<Counter[]> {
  return countersOn(
    servers.map((server) => cluster.client(server)),
    `${prefix}${namespace}:`,
  );
}

/** The primary of a check, as long as the slots are as at the start. */
export function homeOf(shop: ClusterStore, one: Check): number {
  return Math.floor(shop.slotOf(one) / SLOTS_EACH);
}

/** A shared counter on each primary, each of another kind. */
export function sharedOnEach(shop: ClusterStore, parts: Partial<Check> = {}): Check[] {
  return cluster.primaries.map((_, home) => {
    const candidates = Array.from({ length: 100 }, (_, i) =>
      shop.ofKind(mixedKind(home + 1), 'shared', `s${i}`, MANY, parts),
    );
    return candidates.find((one) => homeOf(shop, one) === home)!;
  });
}

export async function consume({ store }: ClusterStore, ...checks: Check[]): Promise<CheckResult[]> {
  return store.consume(checks);
}

export async function used({ store }: ClusterStore, one: Check): Promise<number> {
  const [result] = await store.peek([one]);
  return result!.used;
}

/** Closes the stores of each test. */
export function clusterSuite(): void {
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(({ store }) => store.close()));
    for (const client of clients.splice(0)) client.disconnect();
  });
}
