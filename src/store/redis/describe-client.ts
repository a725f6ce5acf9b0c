import { oneLine } from '../../core/errors.js';
import { nodeAddress } from './node-address.js';
import { isSet } from './option-values.js';
import type { RedisClient } from './redis-option.js';

/** The options of ioredis' `Redis` that say where it connects. */
interface ServerOptions {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly path?: unknown;
  readonly db?: unknown;
  readonly tls?: unknown;
  readonly sentinels?: unknown;
  readonly name?: unknown;
  readonly Connector?: unknown;
}

const MAX_SERVERS = 8;

/**
 * Where a client connects, for people: `Redis at redis://limits.example:6379/0`. Read from the client, because it knows what
 * it has made of a URL and of options. Without user names, passwords and the query of a URL.
 * @param isPassed whether the application has made the client
 */
export function describeClient(client: RedisClient, isPassed: boolean): string {
  const place = client.isCluster ? ofCluster(client) : ofServer(client.options ?? {});
  return isPassed ? `${place} (the ioredis client that was passed)` : place;
}

function ofServer(options: ServerOptions): string {
  const { host, port, path, db, tls, sentinels, name, Connector } = options;
  const database = `database ${Number(db ?? 0)}`;
  if (Array.isArray(sentinels) && sentinels.length > 0)
    return `Redis by sentinels "${oneLine(String(name))}" (${listOf(sentinels, 26_379)}), ${database}`;
  if (isSet(path)) return `Redis at the unix socket ${withoutSecrets(path)}, ${database}`;
  // a Connector of the application chooses the server
  if (isSet(Connector) || !isSet(host)) return `Redis, ${database}`;
  return `Redis at ${isSet(tls) && tls !== false ? 'rediss' : 'redis'}://${addressOf(host, port ?? 6_379)}/${Number(db ?? 0)}`;
}

function ofCluster(cluster: RedisClient): string {
  const { startupNodes } = cluster as { readonly startupNodes?: unknown };
  if (!Array.isArray(startupNodes) || startupNodes.length === 0) return 'a Redis Cluster';
  const nodes = listOf(startupNodes, 6_379);
  // one node may be an address that leads to all of them
  return startupNodes.length === 1
    ? `a Redis Cluster (${nodes})`
    : `a Redis Cluster of ${startupNodes.length} nodes (${nodes})`;
}

function listOf(servers: readonly unknown[], defaultPort: number): string {
  const shown = servers.slice(0, MAX_SERVERS).map((server) => placeOfNode(server, defaultPort));
  return shown.join(', ') + (servers.length > MAX_SERVERS ? ', …' : '');
}

function placeOfNode(node: unknown, defaultPort: number): string {
  const address = nodeAddress(node, defaultPort);
  return address === undefined ? 'an unknown address' : addressOf(address.host, address.port);
}

function addressOf(host: unknown, port: unknown): string {
  const name = withoutSecrets(host);
  // an IPv6 address
  return `${/^[^[].*:/.test(name) ? `[${name}]` : name}:${String(port)}`;
}

/** A host or a path. If it was written as a URL by mistake, it contains a user and a password. */
function withoutSecrets(text: unknown): string {
  return oneLine(
    String(text)
      .replace(/^.*@/s, '')
      .replace(/[?#].*$/s, ''),
  );
}
