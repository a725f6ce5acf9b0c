import { oneLine } from '../../core/errors.js';
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
  const shown = servers.slice(0, MAX_SERVERS).map((server) => addressOfNode(server, defaultPort));
  return shown.join(', ') + (servers.length > MAX_SERVERS ? ', …' : '');
}

/** A node of a Cluster or a sentinel: `{ host, port }`, a URL, or a port. A client that was passed may have others. */
function addressOfNode(node: unknown, defaultPort: number): string {
  if (typeof node === 'number') return addressOf('127.0.0.1', node);
  if (typeof node === 'string') return addressOfText(node, defaultPort);
  const { host, port } = Object(node) as ServerOptions;
  return addressOf(host ?? '127.0.0.1', port ?? defaultPort);
}

/** ioredis also reads `host:port`, and a port as a string. */
function addressOfText(node: string, defaultPort: number): string {
  if (/^\d+$/.test(node)) return addressOf('127.0.0.1', node);
  const url = node.includes('//') ? node : `redis://${node}`;
  if (!URL.canParse(url)) return 'an unknown address';
  const { hostname, port } = new URL(url);
  return addressOf(hostname, port === '' ? defaultPort : port);
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
