import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, type Server, startServer } from './server.js';

const SLOTS = 16_384;
/** The distance from a node's port to the port for the other nodes. */
const BUS = 10_000;
const HIGHEST_PORT = 65_535;

/** A real Redis Cluster on loopback. */
export interface TestCluster {
  /** The primaries, in the order of their slots. */
  readonly primaries: readonly Server[];
  /** The replicas, in the order of their primaries. */
  readonly replicas: readonly Server[];
  /** The start nodes of a client. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** A plain client of one node. */
  client(node: Server): Redis;
  /** Moves a slot with all its keys, some at a time; `between` runs after the first keys. */
  moveSlot(slot: number, from: Server, to: Server, between?: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

export interface ClusterOptions {
  readonly primaries?: number;
  /** The number of primaries with a replica. */
  readonly replicas?: number;
  readonly args?: readonly string[];
}

/** Starts a cluster whose primaries share the slots evenly; resolves when every node reports it as ok. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const { primaries: count = 3, replicas: replicaCount = 0, args = [] } = options;
  const servers = await Promise.all(Array.from({ length: count + replicaCount }, () => startNode(args)));
  const [primaries, replicas] = [servers.slice(0, count), servers.slice(count)];
  const clients = new Map(servers.map((server) => [server, plain(server.port)]));
  const client = (node: Server): Redis => clients.get(node) ?? plain(node.port);
  const share = Math.ceil(SLOTS / count);
  await Promise.all(
    primaries.map(async (primary, i) => {
      const slots = range(i * share, Math.min(SLOTS, (i + 1) * share));
      await client(primary).cluster('ADDSLOTS', ...slots);
      await client(primary).cluster('SET-CONFIG-EPOCH', i + 1);
    }),
  );
  const [first, ...others] = servers as [Server, ...Server[]];
  for (const other of others) await client(first).cluster('MEET', '127.0.0.1', other.port);
  await until(async () => {
    const infos = await Promise.all(servers.map((server) => client(server).cluster('INFO')));
    return infos.every((info) => info.includes(`cluster_known_nodes:${servers.length}`));
  });
  for (const [i, replica] of replicas.entries()) {
    await client(replica).cluster('REPLICATE', await client(primaries[i]!).cluster('MYID'));
  }
  await until(async () => {
    const infos = await Promise.all(servers.map((server) => client(server).cluster('INFO')));
    return infos.every((info) => info.includes('cluster_state:ok') && info.includes(`cluster_size:${count}`));
  });
  for (const [i] of replicas.entries()) {
    await until(async () => (await client(primaries[i]!).info('replication')).includes('state=online'));
  }
  // a client that queries a node without the replicas would disconnect from them
  await until(async () => {
    const views = await Promise.all(servers.map((server) => client(server).cluster('SLOTS')));
    return views.every((view) => view.flatMap((range) => range.slice(3)).length === replicaCount);
  });
  return {
    primaries,
    replicas,
    nodes: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    client,
    moveSlot: (slot, from, to, between) => moveSlot(client, servers, slot, from, to, between),
    stop: async () => {
      for (const one of clients.values()) one.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function startNode(args: readonly string[]): Promise<Server> {
  let port = await freePort();
  while (port + BUS > HIGHEST_PORT) port = 20_000 + Math.floor(Math.random() * 20_000);
  const cluster = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    '1500',
    '--repl-diskless-sync-delay',
    '0',
    // a new replica is online after its first answer
    '--repl-ping-replica-period',
    '1',
  ];
  try {
    return await startServer([...cluster, ...args], port);
  } catch {
    // another process has taken one of its two ports
    return startNode(args);
  }
}

async function moveSlot(
  client: (node: Server) => Redis,
  servers: readonly Server[],
  slot: number,
  from: Server,
  to: Server,
  between?: () => Promise<void>,
): Promise<void> {
  const [source, target] = [client(from), client(to)];
  const [sourceId, targetId] = [await source.cluster('MYID'), await target.cluster('MYID')];
  await target.cluster('SETSLOT', slot, 'IMPORTING', sourceId);
  await source.cluster('SETSLOT', slot, 'MIGRATING', targetId);
  let isFirst = true;
  for (;;) {
    const keys = await source.cluster('GETKEYSINSLOT', slot, isFirst ? 1 : 25);
    if (keys.length === 0 && !isFirst) break;
    if (keys.length > 0) await source.call('MIGRATE', '127.0.0.1', to.port, '', 0, 1000, 'KEYS', ...keys);
    if (isFirst) await between?.();
    isFirst = false;
  }
  for (const one of [to, from, ...servers.filter((server) => server !== to && server !== from)]) {
    // a replica, or a node that is down, gets it from the others
    await client(one)
      .cluster('SETSLOT', slot, 'NODE', targetId)
      .catch(() => undefined);
  }
}

function plain(port: number): Redis {
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 100, disconnectTimeout: 50 });
  client.on('error', () => undefined);
  return client;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** Waits until a condition is true. */
export async function until(isTrue: () => Promise<boolean> | boolean, withinMs = 20_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`not true within ${withinMs} ms`);
    await sleep(20);
  }
}
