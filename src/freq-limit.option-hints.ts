import type { OptionHints } from './core/option-hints.js';
import { RULE_OPTION_NAMES } from './rules/plan-rule.js';
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
  ...RULE_OPTION_NAMES,
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
  ...hints(OF_RULES, () => "it belongs in a rule: rules: [{ window: '1m', limit: 5 }]"),
  ...hints(OF_REDIS, () => "it belongs in redis: redis: 'redis://host:6379' or { host, port }"),
  ...hints(ASYNC, () => 'use FreqLimitModule.forRootAsync({ useFactory, inject, imports })'),
  default: (rule) => `write a list of rules: ${rulesOfThrottler({ default: rule })}`,
  throttlers: (list) => `write ${rulesOfThrottler(list)}`,
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

function hints(names: readonly string[], hint: () => string): OptionHints {
  return Object.fromEntries(names.map((name) => [name, hint]));
}
