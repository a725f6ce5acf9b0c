import { hintsFor, type OptionHint, type OptionHints } from '../core/option-hints.js';
import { CONCURRENCY_NAMES } from './concurrency.js';
import { windowName } from './window.js';

/** Options that are not of a rule, but of the module. */
const OF_MODULE = [
  'redis',
  'namespace',
  'rules',
  'namedRules',
  'defaultKey',
  'hashKeys',
  'skipAddresses',
  'skipUserAgents',
  'headers',
  'partitionKeys',
  'errorFormat',
  'exceptionFactory',
  'onVerdict',
  'onDenied',
  'contextAdapters',
  'ipv6Subnet',
  'maxCounters',
  'timeoutMs',
  'requireStore',
  'fallbackShare',
  'hashTag',
  'coalesce',
  'denyCache',
];

/** Hints for options of a rule: names that other libraries use, and options of the module. */
export const RULE_HINTS: OptionHints = {
  ...hintsFor(OF_MODULE, ofModule),
  ttl: windowFrom(likelyMilliseconds),
  windowMs: windowFrom((ms) => ms),
  timeWindow: windowFrom((ms) => ms),
  interval: windowFrom(likelyMilliseconds),
  duration: windowFrom((seconds) => seconds * 1_000),
  period: windowFrom((seconds) => seconds * 1_000),
  max: 'limit',
  points: 'limit',
  count: 'limit',
  requests: 'limit',
  maxRequests: 'limit',
  quota: 'limit',
  by: 'key',
  tracker: 'key',
  getTracker: 'key',
  generateKey: 'key',
  keyGenerator: 'key',
  keyPrefix: 'name',
  id: 'name',
  normalise: 'normalize',
  weight: 'cost',
  ...hintsFor(['realCost', 'costAfter', 'finalCost', 'settle'], 'actualCost'),
  ...hintsFor(['maxCost', 'costLimit', 'share'], 'maxShare'),
  skip: 'skipIf',
  skipOnError: 'onStoreError',
  passOnStoreError: 'onStoreError',
  insuranceLimiter: 'onStoreError',
  errorMessage: 'message',
  status: 'statusCode',
  dryRun: 'shadow',
  skipFailedRequests: "countWhen: 'success'",
  skipSuccessfulRequests: "countWhen: 'failure'",
  requestWasSuccessful: 'countWhen',
  ignoreUserAgents: ofModule('skipUserAgents'),
  setHeaders: ofModule('headers'),
  standardHeaders: ofModule('headers'),
  legacyHeaders: ofModule('headers'),
  handler: ofModule('exceptionFactory'),
  onLimitReached: ofModule('onDenied'),
  storage: ofModule('redis'),
  store: ofModule('redis'),
  storeClient: ofModule('redis'),
  ...hintsFor(['strategy', 'algo'], 'algorithm'),
  ...hintsFor(['capacity', 'bucketSize', 'burstLimit'], 'burst'),
  ...hintsFor(['block', 'blockTime', 'banFor'], 'blockFor'),
  blockDuration: blockFrom,
  ...hintsFor(['calendar', 'timeZone', 'timezone', 'startsAt'], {
    advice: "it belongs in the window: window: { calendar: 'month', timeZone: 'Europe/Berlin' }",
  }),
  ...hintsFor(CONCURRENCY_NAMES, 'concurrency'),
  execEvenly: {
    advice: 'leave it out: requests are not delayed; to limit bursts, add a second rule with a short window',
  },
};

function ofModule(name: string): OptionHint {
  return { advice: `write ${name} in FreqLimitModule.forRoot({ ${name}: … })` };
}

/** Shows a length of time of another library as a window. */
function windowFrom(toMs: (value: number) => number): (value: unknown) => OptionHint {
  return (value) => {
    const window = typeof value === 'number' ? windowOfMs(toMs(value)) : undefined;
    return window === undefined ? 'window' : `window: '${window}'`;
  };
}

/** A block of another library. */
function blockFrom(value: unknown): OptionHint {
  const length = windowOfTtl(value);
  return length === undefined ? 'blockFor' : `blockFor: '${length}'`;
}

/** A `ttl` as a window such as `1m`; `undefined` if it is not a number of milliseconds. */
export function windowOfTtl(ttl: unknown): string | undefined {
  return typeof ttl === 'number' ? windowOfMs(likelyMilliseconds(ttl)) : undefined;
}

/** `ttl` was in seconds in old versions of the throttler. */
function likelyMilliseconds(ttl: number): number {
  return ttl < 1_000 ? ttl * 1_000 : ttl;
}

function windowOfMs(ms: number): string | undefined {
  return Number.isSafeInteger(ms) && ms >= 1 ? windowName(ms) : undefined;
}
