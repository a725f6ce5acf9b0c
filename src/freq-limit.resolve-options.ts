import { readExceptionFactory } from './answers/answer-options.js';
import type { ContextAdapter } from './contexts/context-adapter.js';
import { type IsSkipped, skipByAddress, skipByUserAgent } from './contexts/skip-clients.js';
import { formatForLog, invalidOptions, oneLine } from './core/errors.js';
import { keyHasherFrom, plainKey } from './core/key-hash.js';
import { Mistakes } from './core/mistakes.js';
import { type EntriesFor, OptionTable, type OptionValues } from './core/option-table.js';
import {
  aFunction,
  BOOLEAN,
  matching,
  objectOf,
  oneOf,
  OptionReader,
  type Validator,
  wholeNumber,
} from './core/validate.js';
import type { FreqLimitHook } from './decisions/events.js';
import { mistakeInOptions, MODULE_HINTS } from './freq-limit.option-hints.js';
import type { FreqLimitOptions, ResolvedOptions } from './freq-limit.options.js';
import type { NamedRules } from './rules/named-rules.js';
import { readRules } from './rules/read-rules.js';
import {
  ALGORITHM,
  FROM_CONTEXT,
  MESSAGE,
  ON_MISSING_KEY,
  ON_STORE_ERROR,
  checkKey,
} from './rules/validators.js';
import { readRedisOption } from './store/redis/check-redis-option.js';
import type { MemoryReason } from './store/memory/memory-warnings.js';
import type { HashTag } from './store/redis/hash-tags.js';
import { isClustered, type RedisOption } from './store/redis/redis-option.js';

const PLACE = 'FreqLimitModule';

const SHARE: Validator<number> = {
  test: (value): value is number => typeof value === 'number' && value > 0 && value <= 1,
  expected: 'a number above 0 and at most 1',
};
const METADATA_KEYS: Validator<NonNullable<ContextAdapter['handlerMetadata']>> = {
  test: (value): value is string | symbol =>
    [value].flat().length > 0 &&
    [value].flat().every((key) => typeof key === 'symbol' || (typeof key === 'string' && key !== '')),
  expected: 'a metadata key (a string or a symbol), or a list of them',
};
const NAMED_RULES = objectOf<NamedRules>(
  "an object of rules by name, such as { login: { window: '15m', limit: 5 } }",
);
const ADAPTERS = objectOf<Readonly<Record<string, ContextAdapter>>>(
  'an object of adapters by kind of context',
);

const ADAPTER_OPTIONS = new OptionTable({
  request: { validator: aFunction(), default: undefined },
  address: { validator: aFunction(), default: undefined },
  response: { validator: aFunction(), default: undefined },
  toError: { validator: aFunction(), default: undefined },
  isClientFacing: { validator: BOOLEAN, default: undefined },
  handlerMetadata: { validator: METADATA_KEYS, default: undefined },
} as const satisfies EntriesFor<ContextAdapter>);

/** The checks and defaults of all options. */
const ENTRIES = {
  redis: { parse: readRedis, default: undefined },
  namespace: {
    validator: matching(/^[A-Za-z0-9._:-]{1,32}$/, 'a string of 1 to 32 characters A-Z a-z 0-9 . _ : -'),
    default: 'fl',
  },
  rules: { parse: readRules, default: [] },
  namedRules: { validator: NAMED_RULES, default: {} },
  defaultKey: { parse: checkKey, default: '{ip}' },
  hashKeys: { parse: keyHasherFrom, default: plainKey },
  onMissingKey: { validator: ON_MISSING_KEY, default: 'ip' },
  countDenied: { validator: BOOLEAN, default: false },
  algorithm: { validator: ALGORITHM, default: 'fixed-window' },
  skipIf: { validator: FROM_CONTEXT, default: undefined },
  skipAddresses: { parse: skipByAddress, default: undefined },
  skipUserAgents: { parse: skipByUserAgent, default: undefined },
  headers: {
    validator: oneOf('draft', 'draft-12', 'draft-11', 'legacy', 'both', 'retry-after', 'none'),
    default: 'draft',
  },
  partitionKeys: { validator: BOOLEAN, default: false },
  errorFormat: { validator: oneOf('nest', 'problem'), default: 'nest' },
  message: { validator: MESSAGE, default: undefined },
  exceptionFactory: { parse: readExceptionFactory, default: undefined },
  onVerdict: { validator: aFunction<FreqLimitHook>(), default: undefined },
  onDenied: { validator: aFunction<FreqLimitHook>(), default: undefined },
  contextAdapters: { parse: parseAdapters, default: {} },
  ipv6Subnet: { validator: wholeNumber(32, 128), default: 64 },
  maxCounters: { validator: wholeNumber(1, 10_000_000), default: 100_000 },
  timeoutMs: { validator: wholeNumber(1, 60_000), default: 250 },
  onStoreError: { validator: ON_STORE_ERROR, default: 'memory' },
  requireStore: { validator: BOOLEAN, default: false },
  fallbackShare: { validator: SHARE, default: 1 },
  hashTag: { validator: aFunction<HashTag>(), default: undefined },
  coalesce: { validator: BOOLEAN, default: true },
  denyCache: { validator: BOOLEAN, default: true },
} as const satisfies EntriesFor<FreqLimitOptions>;

const OPTIONS = new OptionTable(ENTRIES, MODULE_HINTS);

export const OPTION_NAMES: readonly string[] = OPTIONS.names;

type Options = OptionValues<typeof ENTRIES>;

/** Options that are right by themselves, but not together. */
interface Contradiction {
  readonly option: keyof Options;
  readonly other: keyof Options;
  readonly applies: (options: Options) => boolean;
  readonly problem: string;
}

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    option: 'requireStore',
    other: 'redis',
    applies: ({ requireStore, redis }) => requireStore && withoutFalse(redis) === undefined,
    problem: 'needs redis, which is missing, undefined or false; is its environment variable set?',
  },
  {
    option: 'hashTag',
    other: 'redis',
    applies: ({ hashTag, redis }) => hashTag !== undefined && !isClustered(withoutFalse(redis)),
    problem: 'is only for a Redis Cluster, and redis is not one; remove hashTag',
  },
  {
    option: 'partitionKeys',
    other: 'hashKeys',
    applies: ({ partitionKeys, hashKeys }) => partitionKeys && hashKeys === plainKey,
    problem: 'needs hashKeys; otherwise clients could guess the values of keys',
  },
];

/**
 * Checks the options and fills in the defaults. Does not throw: the start fails later, when the rules and decorators are
 * known to be right or wrong too. Until then, wrong options have their defaults.
 */
export function resolveOptions(given: unknown): ResolvedOptions {
  const reader = new OptionReader(PLACE, invalidOptions);
  const { values, errors } = OPTIONS.readAll(given, reader);
  const mistake = mistakeInOptions(given);
  if (mistake !== undefined) errors.set('', invalidOptions(`${PLACE}: ${mistake}`));
  for (const { option, other, applies, problem } of CONTRADICTIONS) {
    if (errors.has(option) || errors.has(other) || !applies(values)) continue;
    errors.set(option, reader.invalid(option, problem));
  }
  const { hashKeys, skipAddresses, skipUserAgents, rules, namedRules, ...options } = values;
  const redis = withoutFalse(options.redis);
  return Object.freeze({
    ...options,
    redis,
    memoryReason: redis === undefined ? memoryReasonOf(given, options.redis) : undefined,
    rules: Object.freeze([...rules]),
    namedRules: Object.freeze({ ...namedRules }),
    hashKey: hashKeys,
    isSkipped: eitherOf(skipAddresses, skipUserAgents),
    errors: errors.size === 0 ? undefined : errors,
  });
}

/** `redis: undefined` is most likely an environment variable that is not set. */
function memoryReasonOf(given: unknown, redis: unknown): MemoryReason {
  if (redis === false) return 'chosen';
  return 'redis' in (Object(given) as object) ? 'unset' : undefined;
}

/** Where to count; `undefined`: in memory. */
function withoutFalse(redis: Options['redis']): RedisOption | undefined {
  return redis === false ? undefined : redis;
}

/** `false` is the choice to count in memory. */
function readRedis(redis: unknown): RedisOption | false {
  return redis === false ? redis : readRedisOption(redis);
}

function eitherOf(a: IsSkipped | undefined, b: IsSkipped | undefined): IsSkipped | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return (origin) => a(origin) || b(origin);
}

function parseAdapters(given: unknown): Readonly<Record<string, ContextAdapter>> {
  if (!ADAPTERS.test(given)) throw new TypeError(`${formatForLog(given)} is not ${ADAPTERS.expected}`);
  const mistakes = new Mistakes();
  for (const [kind, adapter] of Object.entries(given)) {
    const reader = new OptionReader(`${PLACE}: contextAdapters.${oneLine(kind)}`, invalidOptions);
    mistakes.attempt(() => ADAPTER_OPTIONS.read(adapter, reader));
  }
  return mistakes.orThrow(given);
}
