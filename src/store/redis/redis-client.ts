import { show } from '../../core/errors.js';
import { COUNT, wholeNumber } from '../../core/forms.js';

/**
 * What we need of a client: any `Redis` or `Cluster` of ioredis 5 or 6, whichever copy it comes from.
 * Known by its methods, since the class of another copy is another class.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster: boolean;
  /** The socket; none before the first connection. */
  readonly stream?: { cork(): void; uncork(): void; readonly writable?: boolean } | undefined;
  evalsha(sha1: string, numkeys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, numkeys: number, ...args: string[]): Promise<unknown>;
  del(...keys: string[]): Promise<unknown>;
  connect?(): Promise<unknown>;
  on?(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
  once?(event: 'ready', listener: () => void): unknown;
  off?(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
  readonly options?: object | undefined;
  /** Of a Cluster: the servers of each slot, its primary first. */
  readonly slots?: readonly (readonly string[] | undefined)[] | undefined;
}

/** Some nodes of a Redis Cluster, to find the others by, and the options of ioredis' `Cluster`. */
export interface RedisClusterOptions {
  /** At least one: `{ host, port }`, `'redis://host:6379'` or a port. */
  readonly cluster: readonly (string | number | { readonly host?: string; readonly port?: number })[];
  /** What is given wins over what the limiter would set; `redisOptions` are those of each node's connection. */
  readonly options?: RedisClusterClientOptions | undefined;
}

export interface RedisClusterClientOptions {
  readonly keyPrefix?: string | undefined;
  readonly natMap?: object | undefined;
  readonly dnsLookup?: ((...args: never[]) => void) | undefined;
  readonly useSRVRecords?: boolean | undefined;
  readonly maxRedirections?: number | undefined;
  readonly retryDelayOnTryAgain?: number | undefined;
  readonly retryDelayOnClusterDown?: number | undefined;
  readonly slotsRefreshTimeout?: number | undefined;
  readonly slotsRefreshInterval?: number | undefined;
  readonly clusterRetryStrategy?: ((times: number, reason?: Error) => unknown) | undefined;
  readonly redisOptions?: Omit<RedisConnectionOptions, 'host' | 'port' | 'path'> | undefined;
}

/** How to reach Redis: the options of ioredis' `Redis`. What is given wins over what the limiter would set. */
export interface RedisConnectionOptions {
  readonly host?: string | undefined;
  /** @default 6379 */
  readonly port?: number | undefined;
  /** A unix socket instead of host and port. */
  readonly path?: string | undefined;
  readonly family?: number | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** @default 0 */
  readonly db?: number | undefined;
  readonly tls?: object | undefined;
  /** Sentinels to ask for the primary, with its `name`. */
  readonly sentinels?: readonly { readonly host?: string; readonly port?: number }[] | undefined;
  /** The primary's name among the sentinels. */
  readonly name?: string | undefined;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  readonly sentinelTLS?: object | undefined;
  readonly natMap?: object | undefined;
  /** Put before every key by ioredis, before our own namespace. */
  readonly keyPrefix?: string | undefined;
  readonly connectionName?: string | undefined;
  readonly sentinelCommandTimeout?: number | undefined;
  readonly connectTimeout?: number | undefined;
  readonly commandTimeout?: number | undefined;
  readonly socketTimeout?: number | undefined;
  readonly keepAlive?: number | undefined;
  readonly noDelay?: boolean | undefined;
  readonly enableReadyCheck?: boolean | undefined;
  readonly retryStrategy?: ((times: number) => unknown) | undefined;
  readonly Connector?: unknown;
}

/** Where Redis is, or a client that is already connected to it. */
export type RedisOption = string | RedisConnectionOptions | RedisClusterOptions | RedisClient;

const REDIS_FORM =
  "a URL ('redis://host:6379', 'rediss://…'), ioredis options with host, port, path or sentinels, { cluster: [nodes], options }, or an ioredis client";

export function isClient(redis: unknown): redis is RedisClient {
  const client = redis as Partial<RedisClient> | null;
  return (
    typeof client?.evalsha === 'function' &&
    typeof client.eval === 'function' &&
    typeof client.del === 'function'
  );
}

/**
 * Refuses what cannot lead to a Redis.
 * @throws {TypeError} saying what was given and what is wanted; passwords are never shown
 */
export function checkRedisOption(redis: unknown): asserts redis is RedisOption {
  if (typeof redis === 'string') {
    checkUrl(redis);
    return;
  }
  if (isClient(redis)) {
    if (redis.isCluster) checkKeyPrefix(redis.options);
    return;
  }
  if (isClusterOption(redis)) {
    checkClusterOption(redis);
    return;
  }
  if (typeof redis === 'object' && redis !== null && 'sendCommand' in redis) {
    throw new TypeError(`a client of another library is not ${REDIS_FORM}`);
  }
  if (!namesPlace(redis)) throw new TypeError(`${show(redis)} is not ${REDIS_FORM}`);
  checkPlace(redis);
}

function checkPlace({ host, port, db, sentinels, name }: RedisConnectionOptions): void {
  if (host !== undefined && !isHost(host))
    throw new TypeError(`host: ${show(host)} is not a name or an address`);
  if (port !== undefined && !isPort(port))
    throw new TypeError(`port: ${show(port)} is not a port, 1 to 65535`);
  if (db !== undefined && !COUNT.fits(db)) throw new TypeError(`db: ${show(db)} is not ${COUNT.words}`);
  if (sentinels === undefined) return;
  if (!Array.isArray(sentinels) || sentinels.length === 0 || !sentinels.every(isSentinel))
    throw new TypeError('sentinels: is not a list of sentinels, each { host, port }');
  if (typeof name !== 'string' || name === '')
    throw new TypeError("name: is missing: the primary's name among the sentinels");
}

function isSentinel(sentinel: unknown): boolean {
  return typeof sentinel === 'object' && isNode(sentinel);
}

export function isClusterOption(redis: unknown): redis is RedisClusterOptions {
  return (Object(redis) as { readonly cluster?: unknown }).cluster !== undefined;
}

/** Whether the counters will lie in a Cluster. */
export function isClustered(redis: RedisOption | undefined): boolean {
  return isClient(redis) ? redis.isCluster : isClusterOption(redis);
}

function checkClusterOption(redis: object): void {
  const { cluster, options, ...others } = redis as { readonly cluster?: unknown; readonly options?: unknown };
  const [other] = Object.keys(others);
  if (other !== undefined) throw new TypeError(`${other}: stands beside cluster; it belongs into options`);
  // a text may hold a password, and is never shown
  if (!Array.isArray(cluster) || cluster.length === 0 || !cluster.every(isNode))
    throw new TypeError(
      "cluster: is not a list of nodes, each { host, port }, a URL ('redis://host:6379') or a port",
    );
  if (options !== undefined && (typeof options !== 'object' || options === null))
    throw new TypeError("options: is not an object of options of ioredis' Cluster");
  checkKeyPrefix(options);
}

function isNode(node: unknown): boolean {
  if (typeof node === 'string') return isUrl(node);
  if (typeof node === 'number') return isPort(node);
  const { host, port } = Object(node) as { readonly host?: unknown; readonly port?: unknown };
  return (host !== undefined || port !== undefined) && isHost(host ?? '-') && isPort(port ?? 6379);
}

function isHost(host: unknown): boolean {
  return typeof host === 'string' && host !== '';
}

function isPort(port: unknown): boolean {
  return wholeNumber(1, 65_535).fits(port);
}

/** Empty braces are no hash tag: the counters of one request would lie anywhere. */
function checkKeyPrefix(options: object | undefined): void {
  const { keyPrefix, redisOptions } = Object(options) as RedisClusterClientOptions;
  // as ioredis reads it: one that is empty gives way
  // eslint-disable-next-line @typescript-eslint/prefer-nullish-coalescing
  const prefix = keyPrefix || (redisOptions?.keyPrefix ?? '');
  if (typeof prefix !== 'string') throw new TypeError(`keyPrefix: ${show(prefix)} is not a text`);
  const open = prefix.indexOf('{');
  if (open >= 0 && prefix[open + 1] === '}')
    throw new TypeError(
      `keyPrefix: ${show(prefix)} has empty braces, with which no two counters share a slot`,
    );
}

function namesPlace(redis: unknown): redis is RedisConnectionOptions {
  const places = ['host', 'port', 'path', 'sentinels', 'Connector'];
  return typeof redis === 'object' && redis !== null && places.some((place) => place in redis);
}

/** Never shows the text: it may hold a password. */
function checkUrl(text: string): void {
  if (text.startsWith('/')) return;
  if (!isUrl(text))
    throw new TypeError(`the text given is not ${REDIS_FORM}; a password in it is percent-encoded`);
  const { pathname } = new URL(text);
  if (!/^\/?\d*$/.test(pathname))
    throw new TypeError('the path of the URL is the number of a database, as in /0');
}

function isUrl(text: string): boolean {
  try {
    const { username, password } = new URL(text);
    decodeURIComponent(username + password);
    return /^rediss?:\/\/[^/]/.test(text);
  } catch {
    return false;
  }
}
