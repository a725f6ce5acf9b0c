import { formatForLog } from '../../core/errors.js';
import { isPromise } from '../../core/maybe-promise.js';
import { checkClusterClient, readCluster } from './check-cluster-option.js';
import { checkUrl } from './check-redis-url.js';
import { readServer } from './check-server-option.js';
import { rejectUnsetVariables } from './check-unset-variables.js';
import { adviceForValue } from './redis-hints.js';
import { isClient, isClusterOption, type RedisClient, type RedisOption } from './redis-option.js';

const EXPECTED =
  "a URL ('redis://host:6379', 'rediss://…'), ioredis options with host, port, path or sentinels, { cluster: [nodes], options }, an ioredis client, or false to count in the memory of this process";
const IN_TESTS = '; in tests, leave redis out or use nestjs-freq-limit/testing';

/**
 * Reads and checks the option `redis`. Every value is read once, even from a getter, so that the values checked are the ones
 * used.
 * @throws {TypeError} with the option and its right form if it is wrong; never shows a password
 */
export function readRedisOption(redis: unknown): RedisOption {
  if (typeof redis === 'string') {
    rejectUnsetVariables(redis);
    checkUrl(redis, EXPECTED);
    return redis;
  }
  if (isClient(redis)) {
    checkClient(redis);
    return redis;
  }
  if (typeof redis !== 'object' || redis === null || Array.isArray(redis) || isUrlOrPromise(redis))
    throw new TypeError(`${formatForLog(redis)} is not ${EXPECTED}${adviceForValue(redis)}`);
  if ('evalsha' in redis)
    throw new TypeError(
      `a client without the methods evalshaBuffer, evalBuffer and del, which each client of ioredis has, is not ${EXPECTED}${IN_TESTS}`,
    );
  if ('sendCommand' in redis)
    throw new TypeError(`a client of another library, such as node-redis, is not ${EXPECTED}; pass its URL`);
  return isClusterOption(redis) ? readCluster(redis) : readServer(redis, EXPECTED);
}

/** Objects whose properties are not options. */
function isUrlOrPromise(value: object): boolean {
  return value instanceof URL || isPromise(value);
}

function checkClient(client: RedisClient): void {
  if (typeof (client.status as unknown) !== 'string')
    throw new TypeError(
      "the client has no status, so it is not a client of ioredis: commands are only sent while status is 'ready'. Pass an " +
        `ioredis Redis or Cluster${IN_TESTS}`,
    );
  if (client.isCluster) checkClusterClient(client);
}
