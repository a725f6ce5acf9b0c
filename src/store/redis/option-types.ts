import {
  aFunction,
  BOOLEAN,
  COUNT,
  either,
  mismatch,
  oneOf,
  type Validator,
  wholeNumber,
} from '../../core/validate.js';
import { isNode, isSet, type OptionValues } from './option-values.js';

const STRING: Validator<string> = { test: (value) => typeof value === 'string', expected: 'a string' };
const MS: Validator<number> = {
  ...wholeNumber(0, 2 ** 31 - 1),
  expected: 'a whole number of milliseconds',
};
const FUNCTION = aFunction();
/** ioredis turns TLS on for any string, even for "false"; these two are names of its own. */
const TLS: Validator<unknown> = {
  test: (value): value is unknown =>
    (typeof value === 'object' && !Array.isArray(value)) ||
    typeof value === 'boolean' ||
    value === 'RedisCloudFixed' ||
    value === 'RedisCloudFlexible',
  expected: 'an object of options of tls.connect; {} turns TLS on',
};
const NAT_MAP = either(FUNCTION, {
  test: (value): value is object =>
    typeof value === 'object' && value !== null && Object.values(value).every(isAddress),
  expected: "an object such as { '10.0.0.1:6379': { host, port } }",
});

/** What ioredis would misread or ignore if it had another type: a string from the environment, for example. */
const TYPES: Readonly<Record<string, Validator<unknown>>> = {
  ...each(['username', 'password', 'sentinelUsername', 'sentinelPassword'], STRING),
  ...each(['keyPrefix', 'connectionName', 'clientInfoTag', 'name'], STRING),
  ...each(['tls', 'sentinelTLS'], TLS),
  ...each(['connectTimeout', 'disconnectTimeout', 'commandTimeout', 'socketTimeout', 'keepAlive'], MS),
  ...each(['maxLoadingRetryTime', 'sentinelCommandTimeout', 'blockingTimeout', 'blockingTimeoutGrace'], MS),
  ...each(['slotsRefreshTimeout', 'slotsRefreshInterval', 'retryDelayOnFailover'], MS),
  ...each(['retryDelayOnClusterDown', 'retryDelayOnTryAgain', 'retryDelayOnMoved'], MS),
  ...each(['maxRetriesPerRequest', 'maxRedirections', 'sentinelMaxConnections'], COUNT),
  ...each(
    ['retryStrategy', 'reconnectOnError', 'sentinelRetryStrategy', 'dnsLookup', 'resolveSrv'],
    FUNCTION,
  ),
  ...each(['sentinelReconnectStrategy', 'clusterRetryStrategy', 'clusterNodeRetryStrategy'], FUNCTION),
  ...each(['autoResendUnfulfilledCommands', 'enableOfflineQueue', 'enableReadyCheck', 'readOnly'], BOOLEAN),
  ...each(['autoResubscribe', 'disableClientInfo', 'enableAutoPipelining', 'failoverDetector'], BOOLEAN),
  ...each(['enableTLSForSentinelMode', 'updateSentinels', 'lazyConnect', 'noDelay', 'monitor'], BOOLEAN),
  ...each(['showFriendlyErrorStack', 'stringNumbers', 'shardedSubscribers', 'useSRVRecords'], BOOLEAN),
  family: oneOfNumbers(0, 4, 6),
  protocol: oneOfNumbers(2, 3),
  replyMapping: oneOf('legacy', 'resp3'),
  role: oneOf('master', 'slave'),
  scaleReads: either(oneOf('master', 'slave', 'all'), FUNCTION),
  natMap: NAT_MAP,
};

/** Options whose value is never shown. */
const SECRET = /password/i;

/** Throws for an option of a wrong type. Some of ioredis' options may be `null`. */
export function checkTypes(options: OptionValues, prefix = ''): void {
  for (const [name, value] of Object.entries(options)) {
    const type = TYPES[name];
    if (type === undefined || !isSet(value) || type.test(value)) continue;
    throw new TypeError(
      `${prefix}${name}: ${SECRET.test(name) ? `is not ${type.expected}` : mismatch(value, type)}`,
    );
  }
}

function each(
  names: readonly string[],
  type: Validator<unknown>,
): Readonly<Record<string, Validator<unknown>>> {
  return Object.fromEntries(names.map((name) => [name, type]));
}

function oneOfNumbers(...numbers: readonly number[]): Validator<number> {
  return {
    test: (value): value is number => numbers.includes(value as number),
    expected: `one of ${numbers.join(', ')}`,
  };
}

function isAddress(value: unknown): boolean {
  return typeof value === 'object' && isNode(value);
}
