import { formatForLog } from './core/errors.js';
import { hintsFor, type OptionHints } from './core/option-hints.js';
import { ENTRIES as RULE_ENTRIES } from './rules/plan-rule.js';
import { isListOfRules, isRulesByName, rulesText } from './rules/rule-mistakes.js';

const OF_REDIS = [
  'url',
  'uri',
  'host',
  'port',
  'password',
  'username',
  'db',
  'sentinels',
  'cluster',
  'nodes',
  'tls',
];
/** Names that only rules have, here or in other libraries. */
const OF_RULES = [
  ...Object.keys(RULE_ENTRIES),
  'ttl',
  'windowMs',
  'duration',
  'interval',
  'max',
  'points',
  'blockDuration',
];
const ASYNC = ['useFactory', 'useClass', 'useExisting', 'inject', 'imports'];

/** Hints for options of the module: names that other libraries use, and options that belong elsewhere. */
export const MODULE_HINTS: OptionHints = {
  ...hintsFor(OF_RULES, { advice: "it belongs in a rule: rules: [{ window: '1m', limit: 5 }]" }),
  ...hintsFor(OF_REDIS, { advice: "it belongs in redis: redis: 'redis://host:6379' or { host, port }" }),
  ...hintsFor(ASYNC, { advice: 'use FreqLimitModule.forRootAsync({ useFactory, inject, imports })' }),
  default: (rule) => ({ advice: `write a list of rules: ${rulesOfThrottler({ default: rule })}` }),
  throttlers: (list) => ({ advice: `write ${rulesOfThrottler(list)}` }),
  limits: 'rules',
  limiters: 'rules',
  policies: 'namedRules',
  prefix: 'namespace',
  keyPrefix: 'namespace',
  storage: 'redis',
  store: 'redis',
  client: 'redis',
  storeClient: 'redis',
  connection: 'redis',
  key: 'defaultKey',
  tracker: 'defaultKey',
  getTracker: 'defaultKey',
  generateKey: 'defaultKey',
  keyGenerator: 'defaultKey',
  skip: 'skipIf',
  allowList: 'skipAddresses',
  allowlist: 'skipAddresses',
  whitelist: 'skipAddresses',
  ignoreUserAgents: 'skipUserAgents',
  skipOnError: 'onStoreError',
  passOnStoreError: 'onStoreError',
  insuranceLimiter: 'onStoreError',
  inMemoryBlockOnConsumed: 'denyCache',
  ipv6SubnetPrefix: 'ipv6Subnet',
  setHeaders: 'headers',
  standardHeaders: 'headers',
  legacyHeaders: 'headers',
  errorMessage: 'message',
  handler: 'exceptionFactory',
  onLimitReached: 'onDenied',
  timeout: 'timeoutMs',
  isGlobal: 'global',
  global: 'global next to useFactory, not in its result',
  globalGuard: 'globalGuard next to useFactory, not in its result',
};

/** Rules as the throttler takes them, in the form of the option `rules`. The throttler counts each handler separately. */
export function rulesOfThrottler(given: unknown): string {
  const rules = isListOfRules(given) || isRulesByName(given) ? given : [{}];
  return `rules: [${rulesText(rules, ", scope: 'handler'")}]`;
}

/** The mistake of a factory that does not return an object; `undefined` for an object. */
export function mistakeInOptions(given: unknown): string | undefined {
  if (Array.isArray(given)) {
    return `a factory returned ${formatForLog(given)}, not an object with options; return { ${rulesOfThrottler(given)} }`;
  }
  if (typeof given === 'object' && given !== null) return undefined;
  // a string may be a URL with a password
  const returned = typeof given === 'string' ? 'a string' : formatForLog(given);
  return `a factory returned ${returned}, not an object with options; return {} for the defaults`;
}
