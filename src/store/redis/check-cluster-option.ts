import { formatForLog } from '../../core/errors.js';
import { checkConnection } from './check-connection.js';
import { readNodes, sharedByNodes } from './cluster-start-nodes.js';
import { CLUSTER_NAMES, hintFor, SERVER_NAMES } from './option-names.js';
import { checkTypes } from './option-types.js';
import { isNode, isSet, type OptionValues, rejectUnknown, valuesIn } from './option-values.js';
import type { RedisClient } from './redis-option.js';
import type { RedisClusterClientOptions, RedisClusterOptions } from './redis-options.js';

/** The properties of `{ cluster: [nodes], options }`. */
const OPTION_NAMES = new Set(['cluster', 'options']);
/** Options that choose a server, and therefore have no effect in a Cluster. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  host: 'cluster lists the nodes',
  port: 'cluster lists the nodes',
  path: 'cluster lists the nodes',
  sentinels: 'a Cluster has no sentinels',
  name: 'a Cluster has no sentinels',
  role: 'a Cluster has no sentinels',
};
const ONLY_DB_0 =
  'the counters of a Cluster are always in database 0; leave db out, and give each application its own namespace';

/** Reads and checks `{ cluster: [nodes], options }`. */
export function readCluster(given: object): RedisClusterOptions {
  const { cluster, options } = valuesIn(given, OPTION_NAMES);
  rejectUnknown(given, OPTION_NAMES, hintForCluster);
  // a URL may contain a password, so it is never shown
  if (!Array.isArray(cluster) || cluster.length === 0 || !cluster.every(isNode))
    throw new TypeError(
      "cluster: is not a list of nodes, each { host, port }, a URL ('redis://host:6379') or a port",
    );
  const nodes = readNodes(cluster as RedisClusterOptions['cluster']);
  if (nodes.some(hasDatabase)) throw new TypeError(`cluster: ${ONLY_DB_0}`);
  if (options !== undefined && (typeof options !== 'object' || options === null))
    throw new TypeError("options: is not an object of options of ioredis' Cluster");
  const read = options === undefined ? undefined : readClusterClient(options);
  const shared = sharedByNodes(nodes, read?.redisOptions ?? {});
  if (shared === undefined)
    return read === undefined ? { cluster: nodes } : { cluster: nodes, options: read };
  return { cluster: nodes, options: { ...read, redisOptions: { ...shared, ...read?.redisOptions } } };
}

/** Checks the options of a Cluster client that was passed. */
export function checkClusterClient({ options }: RedisClient): void {
  checkKeyPrefix((options ?? {}) as OptionValues);
  const { redisOptions } = (options ?? {}) as { readonly redisOptions?: { readonly db?: unknown } };
  if (Number(redisOptions?.db ?? 0) !== 0) throw new TypeError(`redisOptions.db: ${ONLY_DB_0}`);
}

function readClusterClient(given: object): RedisClusterClientOptions {
  const options = valuesIn(given, CLUSTER_NAMES);
  rejectUnknown(given, CLUSTER_NAMES, hintForCluster, { prefix: 'options.' });
  checkKeyPrefix(options);
  checkTypes(options, 'options.');
  const { redisOptions } = options;
  if (redisOptions === undefined) return options;
  if (typeof redisOptions !== 'object' || redisOptions === null)
    throw new TypeError("options.redisOptions: is not an object of options of ioredis' Redis");
  return { ...options, redisOptions: readNodeOptions(redisOptions) };
}

function readNodeOptions(given: object): OptionValues {
  const prefix = 'options.redisOptions.';
  const options = valuesIn(given, SERVER_NAMES);
  rejectUnknown(given, SERVER_NAMES, hintForCluster, { prefix });
  for (const [name, reason] of Object.entries(WITHOUT_EFFECT))
    if (isSet(options[name])) throw new TypeError(`${prefix}${name}: has no effect here; ${reason}`);
  if (isSet(options['natMap']))
    throw new TypeError(`${prefix}natMap: has no effect here; it belongs in options`);
  if (options['db'] !== undefined && options['db'] !== 0) throw new TypeError(`${prefix}db: ${ONLY_DB_0}`);
  checkConnection(options, prefix);
  return options;
}

/** Where an option belongs that was given in the wrong part of a Cluster's options. */
function hintForCluster(name: string): string | undefined {
  if (Object.hasOwn(WITHOUT_EFFECT, name)) return WITHOUT_EFFECT[name];
  if (CLUSTER_NAMES.has(name)) return 'it belongs in options';
  if (SERVER_NAMES.has(name)) return 'it belongs in options.redisOptions';
  return hintFor(name, CLUSTER_NAMES) ?? hintFor(name, SERVER_NAMES);
}

/** Whether a node has a database other than 0. */
function hasDatabase(node: unknown): boolean {
  if (typeof node === 'string') return !/^\/?0*$/.test(new URL(node).pathname);
  return Number((Object(node) as { readonly db?: unknown }).db ?? 0) !== 0;
}

/** Empty braces are not a hash tag: the counters of one request would be in different slots. */
function checkKeyPrefix({ keyPrefix, redisOptions }: OptionValues): void {
  const ofNodes = (Object(redisOptions) as { readonly keyPrefix?: unknown }).keyPrefix;
  // ioredis ignores an empty one
  // eslint-disable-next-line @typescript-eslint/prefer-nullish-coalescing
  const prefix = keyPrefix || (ofNodes ?? '');
  if (typeof prefix !== 'string') throw new TypeError(`keyPrefix: ${formatForLog(prefix)} is not a string`);
  const open = prefix.indexOf('{');
  if (open >= 0 && prefix[open + 1] === '}')
    throw new TypeError(
      `keyPrefix: ${formatForLog(prefix)} has empty braces, so the counters of a request would be in different slots; remove them`,
    );
}
