import { show } from '../../core/errors.js';
import { COUNT } from '../../core/forms.js';

/**
 * What we need of a client: any `Redis` of ioredis 5 or 6, whichever copy it comes from.
 * Known by its methods, since the class of another copy is another class.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster: boolean;
  /** The socket; none before the first connection. */
  readonly stream?: { cork(): void; uncork(): void } | undefined;
  evalsha(sha1: string, numkeys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, numkeys: number, ...args: string[]): Promise<unknown>;
  del(...keys: string[]): Promise<unknown>;
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
export type RedisOption = string | RedisConnectionOptions | RedisClient;

const REDIS_FORM =
  "a URL ('redis://host:6379', 'rediss://…'), ioredis options with host, port, path or sentinels, or an ioredis client";

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
    if (redis.isCluster)
      throw new TypeError('a Cluster client is not supported yet; give a client of one server');
    return;
  }
  if (typeof redis === 'object' && redis !== null && 'sendCommand' in redis) {
    throw new TypeError(`a client of another library is not ${REDIS_FORM}`);
  }
  if (!namesPlace(redis)) throw new TypeError(`${show(redis)} is not ${REDIS_FORM}`);
  const { db, sentinels } = redis;
  if (db !== undefined && !COUNT.fits(db)) throw new TypeError(`db: ${show(db)} is not ${COUNT.words}`);
  if (sentinels?.length === 0) throw new TypeError('sentinels: none is named');
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
