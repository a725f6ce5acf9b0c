import { show } from '../../core/errors.js';

/**
 * What we need of a client: any `Redis` of ioredis 5 or 6, whichever copy it comes from.
 * Known by its methods, since the class of another copy is another class.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster: boolean;
  evalsha(sha1: string, numkeys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, numkeys: number, ...args: string[]): Promise<unknown>;
  del(...keys: string[]): Promise<unknown>;
}

/** How to reach Redis: the options of ioredis' `Redis`, of which these are the usual ones. */
export interface RedisConnectionOptions {
  readonly host?: string;
  /** @default 6379 */
  readonly port?: number;
  /** A unix socket instead of host and port. */
  readonly path?: string;
  readonly username?: string;
  readonly password?: string;
  /** @default 0 */
  readonly db?: number;
  readonly tls?: object;
  /** Sentinels to ask for the primary, with its `name`. */
  readonly sentinels?: readonly { readonly host?: string; readonly port?: number }[];
  /** The primary's name among the sentinels. */
  readonly name?: string;
  /** Put before every key by ioredis, before our own namespace. */
  readonly keyPrefix?: string;
  /** Any other option of ioredis; it wins over what the limiter would set. */
  readonly [option: string]: unknown;
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
    if (/^(rediss?:\/\/[^/]|\/)/.test(redis)) return;
    throw new TypeError(`the text given is not ${REDIS_FORM}`);
  }
  if (isClient(redis)) {
    if (redis.isCluster)
      throw new TypeError('a Cluster client is not supported yet; give a client of one server');
    return;
  }
  if (typeof redis === 'object' && redis !== null && 'sendCommand' in redis) {
    throw new TypeError(`a client of another library is not ${REDIS_FORM}`);
  }
  const places = ['host', 'port', 'path', 'sentinels', 'Connector'];
  if (typeof redis === 'object' && redis !== null && places.some((place) => place in redis)) return;
  throw new TypeError(`${show(redis)} is not ${REDIS_FORM}`);
}
