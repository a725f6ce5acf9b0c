import type { ContextAdapter } from './contexts/context-adapter.js';
import { type IsSkipped, compileSkip } from './contexts/skip-callers.js';
import type { OnStoreError } from './core/check.js';
import { FreqLimitError } from './core/errors.js';
import {
  aFunction,
  BOOLEAN,
  type Validator,
  matching,
  oneOf,
  OptionReader,
  wholeNumber,
} from './core/validate.js';
import { type HashKeys, keyHasherFrom } from './core/key-hash.js';
import type { FreqLimitHook } from './decisions/events.js';
import type { AnswerOptions, ExceptionFactory } from './answers/answer-options.js';
import type { ErrorFormat } from './answers/error-body.js';
import type { HeadersOption } from './answers/headers.js';
import { compileKey } from './rules/key/compile-key.js';
import type { NamedRules } from './rules/named-rules.js';
import { MESSAGE, ON_MISSING_KEY, ON_STORE_ERROR, type RuleDefaults } from './rules/planned-rule.js';
import type { DenialMessage, FreqLimitRule, KeySpec, FromContext, OnMissingKey } from './rules/rule.js';
import type { HashTag } from './store/redis/hash-tags.js';
import { readRedisOption } from './store/redis/check-redis-option.js';
import { isClustered, type RedisOption } from './store/redis/redis-option.js';

/** What `FreqLimitModule.forRoot` takes, and what a `forRootAsync` factory answers. Every option may be left out. */
export interface FreqLimitOptions {
  /**
   * Counts in Redis, shared by all processes: a URL, ioredis options, `{ cluster: [nodes], options }`, or an ioredis
   * client (`Redis` or `Cluster`). A connection made from a URL or options is closed with the application; a client
   * handed in is left as it is.
   * @default none: counts in the memory of this process
   */
  readonly redis?: RedisOption | undefined;
  /**
   * Head of every counter's key. Two applications that share a Redis and must not share counters need two namespaces.
   * 1 to 32 of `A-Z a-z 0-9 . _ : -`.
   * @default 'fl'
   */
  readonly namespace?: string | undefined;
  /**
   * Rules for every handler of the application, before those of controllers and handlers; a text is the name of one of
   * `namedRules`.
   * @default none
   */
  readonly rules?: readonly (FreqLimitRule | string)[] | undefined;
  /**
   * Rules written once and referred to by name, as `@FreqLimit('login')`. Where they are referred to they count as if
   * written there. All are checked at start-up, referred to or not.
   * @default none
   */
  readonly namedRules?: NamedRules | undefined;
  /**
   * Whom a rule without a `key` counts by.
   * @default '{ip}'
   */
  readonly defaultKey?: KeySpec | undefined;
  /**
   * Keeps phones, e-mails and addresses out of Redis: of a key's text that comes from a visitor or from a caller of the
   * service, stands there only an HMAC-SHA-256 by this secret, of at least 16 characters or bytes. Another secret begins
   * all counters anew.
   * @default none: harmless values stand as they are, others as a hash without a secret
   */
  readonly hashKeys?: HashKeys | undefined;
  /**
   * What happens to a visit that lacks what a rule's key names.
   * @default 'ip': counted by its address, on a counter of its own
   */
  readonly onMissingKey?: OnMissingKey | undefined;
  /**
   * Whether denied visits are charged, for rules that do not say so themselves.
   * @default false
   */
  readonly countDenied?: boolean | undefined;
  /**
   * Leaves all rules out for a visit when it answers exactly `true`. What it throws is a 500 of that request.
   * @default never
   */
  readonly skipIf?: FromContext<boolean | undefined> | undefined;
  /**
   * Addresses and ranges, such as `'203.0.113.7'`, `'10.0.0.0/8'`, `'2001:db8::/32'`, whose visits all rules are left out
   * for. The whole address is looked at, whatever `ipv6Subnet` says, and it is `request.ip`: only as true as the
   * application's trust in its proxies.
   * @default none
   */
  readonly skipAddresses?: readonly string[] | undefined;
  /**
   * Patterns and texts: visits whose `User-Agent` matches one, or holds one, all rules are left out for. Anybody can write
   * any user agent, so this is a courtesy among friends and keeps nobody out.
   * @default none
   */
  readonly skipUserAgents?: readonly (RegExp | string)[] | undefined;
  /**
   * Which headers answers carry: `'draft'`, `'draft-12'`, `'draft-11'`, `'legacy'`, `'both'`,
   * `'retry-after'` or `'none'`.
   * @default 'draft'
   */
  readonly headers?: HeadersOption | undefined;
  /**
   * Whether the draft's headers carry a partition key `pk` for each rule that counts by something, so that a client who
   * acts for several users can tell their limits apart. It is the HMAC of what is counted by, so `hashKeys` is needed.
   * @default false
   */
  readonly partitionKeys?: boolean | undefined;
  /**
   * How the body of a refusal looks: as Nest's own exceptions, or `'problem'` for problem details (RFC 9457).
   * @default 'nest'
   */
  readonly errorFormat?: ErrorFormat | undefined;
  /**
   * What a denied caller is told: a text, or a function of the verdict and the context, for instance in his language.
   * One that fails is a line in the log, and the default text.
   * @default 'Too many requests, try again in 8 s'
   */
  readonly message?: DenialMessage | undefined;
  /**
   * Makes what is thrown for a denial, on every transport; `status` and `message` are then its own affair.
   * @default `FreqLimitExceededException`, or what the transport wants instead
   */
  readonly exceptionFactory?: ExceptionFactory | undefined;
  /**
   * Is told of each verdict of the guard and of `FreqLimitService.consume`. Nobody waits for it.
   * @default none
   */
  readonly onVerdict?: FreqLimitHook | undefined;
  /**
   * Is told of each verdict that denies. Nobody waits for it.
   * @default none
   */
  readonly onDenied?: FreqLimitHook | undefined;
  /**
   * How kinds of contexts are read and answered that are not known here, or not as wanted, by what `context.getType()`
   * says: `{ ws: { address: (context) => … } }`.
   * @default `http`, `graphql`, `ws` and `rpc`
   */
  readonly contextAdapters?: Readonly<Record<string, ContextAdapter>> | undefined;
  /**
   * Bits of an IPv6 address that make a client, 32 to 128. One host can choose any address of its /64.
   * @default 64
   */
  readonly ipv6Subnet?: number | undefined;
  /**
   * Most counters kept in memory, where there is no `redis` or it does not answer. Some 250 to 450 bytes each, by the
   * length of its key.
   * @default 100000
   */
  readonly maxCounters?: number | undefined;
  /**
   * Milliseconds a visit waits for an answer of Redis, 1 to 60000; then `onStoreError` decides.
   * @default 250
   */
  readonly timeoutMs?: number | undefined;
  /**
   * What decides when Redis cannot answer, for rules that do not say so themselves: `'memory'` goes on limiting in this
   * process, `'allow'` lets pass, `'deny'` answers 503.
   * @default 'memory'
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * This process's part of every limit while `'memory'` decides, above 0 and at most 1: with four instances behind a
   * load balancer 0.25 keeps them together at the limit. Never less than one visit.
   * @default 1: each process has the whole limit
   */
  readonly fallbackShare?: number | undefined;
  /**
   * In a Redis Cluster, how many hash tags the counters are spread over, 1 to 16384. Counters of one key value always
   * share one, which anybody can compute unless `hashKeys` is set. Changing it restarts all counters.
   * @default 256
   */
  readonly hashTagBuckets?: number | undefined;
  /**
   * In a Redis Cluster, names the hash tag of a counter instead: what has one tag lies in one slot and is decided in
   * one step. 1 to 64 characters without braces and spaces.
   * @default none: by the key's value, see `hashTagBuckets`
   */
  readonly hashTag?: HashTag | undefined;
  /**
   * Whether the checks of all requests that arrive in one turn of the event loop go to Redis together. Each request is
   * decided on its own all the same.
   * @default true
   */
  readonly coalesce?: boolean | undefined;
  /**
   * Whether this process remembers which counters in Redis are at their limit, and denies their visits without asking
   * again. Never denies what Redis would allow; a `reset()` in another process is seen within a second.
   * @default true
   */
  readonly denyCache?: boolean | undefined;
}

/** The options with every default filled in. Frozen. */
export interface ResolvedOptions extends RuleDefaults, AnswerOptions {
  readonly redis: RedisOption | undefined;
  readonly rules: readonly (FreqLimitRule | string)[];
  readonly namedRules: NamedRules;
  readonly skipIf: FromContext<unknown> | undefined;
  readonly isSkipped: IsSkipped | undefined;
  readonly onVerdict: FreqLimitHook | undefined;
  readonly onDenied: FreqLimitHook | undefined;
  readonly contextAdapters: Readonly<Record<string, ContextAdapter>>;
  readonly ipv6Subnet: number;
  readonly maxCounters: number;
  readonly timeoutMs: number;
  readonly fallbackShare: number;
  readonly hashTag: HashTag | undefined;
  readonly hashTagBuckets: number;
  readonly coalesce: boolean;
  readonly denyCache: boolean;
}

const OPTIONS: readonly (keyof FreqLimitOptions)[] = [
  'redis',
  'namespace',
  'rules',
  'namedRules',
  'defaultKey',
  'hashKeys',
  'onMissingKey',
  'countDenied',
  'skipIf',
  'skipAddresses',
  'skipUserAgents',
  'headers',
  'partitionKeys',
  'errorFormat',
  'message',
  'exceptionFactory',
  'onVerdict',
  'onDenied',
  'contextAdapters',
  'ipv6Subnet',
  'maxCounters',
  'timeoutMs',
  'onStoreError',
  'fallbackShare',
  'hashTagBuckets',
  'hashTag',
  'coalesce',
  'denyCache',
];

/** The words of other libraries, and of our own for another place. */
const HINTS = {
  prefix: 'namespace',
  keyPrefix: 'namespace',
  throttlers: 'rules',
  limits: 'rules',
  policies: 'namedRules',
  storage: 'redis',
  store: 'redis',
  client: 'redis',
  storeClient: 'redis',
  key: 'defaultKey',
  skip: 'skipIf',
  allowList: 'skipAddresses',
  whitelist: 'skipAddresses',
  ignoreUserAgents: 'skipUserAgents',
  allowlist: 'skipAddresses',
  skipOnError: 'onStoreError',
  passOnStoreError: 'onStoreError',
  insuranceLimiter: 'onStoreError',
  setHeaders: 'headers',
  errorMessage: 'message',
  global: 'global beside useFactory, not among its answer',
  globalGuard: 'globalGuard beside useFactory, not among its answer',
};

const NAMESPACE = matching(/^[A-Za-z0-9._:-]{1,32}$/, '1 to 32 characters A-Z a-z 0-9 . _ : -');
const HEADERS = oneOf('draft', 'draft-12', 'draft-11', 'legacy', 'both', 'retry-after', 'none');
const ERROR_FORMAT = oneOf('nest', 'problem');
const HOOK = aFunction<FreqLimitHook>();
const SKIP_IF = aFunction<FromContext<unknown>>();
const HASH_TAG = aFunction<HashTag>();
const SHARE: Validator<number> = {
  test: (value): value is number => typeof value === 'number' && value > 0 && value <= 1,
  expected: 'a number above 0 and at most 1',
};
const A_FUNCTION = aFunction();
const ADAPTER: readonly (keyof ContextAdapter)[] = [
  'request',
  'address',
  'response',
  'toError',
  'isClientFacing',
  'handlerMetadata',
];
const METADATA_KEYS: Validator<NonNullable<ContextAdapter['handlerMetadata']>> = {
  test: (value): value is string | symbol =>
    [value].flat().length > 0 &&
    [value].flat().every((key) => typeof key === 'symbol' || (typeof key === 'string' && key !== '')),
  expected: 'a metadata key (a text or a symbol), or a list of these',
};
const NAMED_RULES: Validator<NamedRules> = {
  test: (value): value is NamedRules => typeof value === 'object' && value !== null && !Array.isArray(value),
  expected: "is not an object of rules by their names, such as { login: { window: '15m', limit: 5 } }",
};
const DEFAULT_KEY = '{ip}';

/**
 * Checks the options and fills in the defaults; the only place that knows them.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` naming the option, what was given and the right form
 */
export function resolveOptions(options: unknown): ResolvedOptions {
  const reader = new OptionReader('FreqLimitModule', invalidOptions);
  const given = reader.object(options, OPTIONS, HINTS);
  const { rules, namedRules, defaultKey }: FreqLimitOptions = given;
  const redis = redisOf(given['redis'], reader);
  if (rules !== undefined && !Array.isArray(rules)) throw reader.invalid('rules', 'is not a list of rules');
  if (namedRules !== undefined && !NAMED_RULES.test(namedRules))
    throw reader.invalid('namedRules', NAMED_RULES.expected);
  if (defaultKey !== undefined) reader.parsed('defaultKey', () => compileKey(defaultKey));
  for (const option of ['hashTag', 'hashTagBuckets'] as const) {
    if (given[option] !== undefined && !isClustered(redis))
      throw reader.invalid(option, 'is for a Redis Cluster, and redis names none');
  }
  if (given['partitionKeys'] === true && given['hashKeys'] === undefined) {
    throw reader.invalid(
      'partitionKeys',
      'needs hashKeys: else a key could be guessed from what headers tell',
    );
  }
  return Object.freeze({
    redis,
    rules: Object.freeze([...((rules as readonly (FreqLimitRule | string)[] | undefined) ?? [])]),
    namedRules: Object.freeze({ ...namedRules }),
    defaultKey: defaultKey ?? DEFAULT_KEY,
    namespace: reader.optional('namespace', given['namespace'], NAMESPACE) ?? 'fl',
    hashKey: keyHasherFrom(given['hashKeys'], reader),
    onMissingKey: reader.optional('onMissingKey', given['onMissingKey'], ON_MISSING_KEY) ?? 'ip',
    countDenied: reader.optional('countDenied', given['countDenied'], BOOLEAN) ?? false,
    skipIf: reader.optional('skipIf', given['skipIf'], SKIP_IF),
    isSkipped: compileSkip(given['skipAddresses'], given['skipUserAgents'], reader),
    headers: reader.optional('headers', given['headers'], HEADERS) ?? 'draft',
    partitionKeys: reader.optional('partitionKeys', given['partitionKeys'], BOOLEAN) ?? false,
    errorFormat: reader.optional('errorFormat', given['errorFormat'], ERROR_FORMAT) ?? 'nest',
    message: reader.optional('message', given['message'], MESSAGE),
    exceptionFactory: reader.optional(
      'exceptionFactory',
      given['exceptionFactory'],
      aFunction<ExceptionFactory>(),
    ),
    onVerdict: reader.optional('onVerdict', given['onVerdict'], HOOK),
    onDenied: reader.optional('onDenied', given['onDenied'], HOOK),
    contextAdapters: adaptersOf(given['contextAdapters'], reader),
    ipv6Subnet: reader.optional('ipv6Subnet', given['ipv6Subnet'], wholeNumber(32, 128)) ?? 64,
    maxCounters: reader.optional('maxCounters', given['maxCounters'], wholeNumber(1, 10_000_000)) ?? 100_000,
    timeoutMs: reader.optional('timeoutMs', given['timeoutMs'], wholeNumber(1, 60_000)) ?? 250,
    onStoreError: reader.optional('onStoreError', given['onStoreError'], ON_STORE_ERROR) ?? 'memory',
    fallbackShare: reader.optional('fallbackShare', given['fallbackShare'], SHARE) ?? 1,
    hashTag: reader.optional('hashTag', given['hashTag'], HASH_TAG),
    hashTagBuckets: reader.optional('hashTagBuckets', given['hashTagBuckets'], wholeNumber(1, 16_384)) ?? 256,
    coalesce: reader.optional('coalesce', given['coalesce'], BOOLEAN) ?? true,
    denyCache: reader.optional('denyCache', given['denyCache'], BOOLEAN) ?? true,
  });
}

function redisOf(given: unknown, reader: OptionReader): RedisOption | undefined {
  return given === undefined ? undefined : reader.parsed('redis', () => readRedisOption(given));
}

/** A function each, by kind of context; what is none of an adapter's functions nobody would call. */
function adaptersOf(given: unknown, reader: OptionReader): Readonly<Record<string, ContextAdapter>> {
  if (given === undefined) return {};
  const adapters = reader.record('contextAdapters', given);
  for (const [type, adapter] of Object.entries(adapters)) {
    const place = `FreqLimitModule: contextAdapters.${type}`;
    const of = new OptionReader(place, invalidOptions);
    const { isClientFacing, handlerMetadata, ...functions } = of.object(adapter, ADAPTER);
    of.optional('isClientFacing', isClientFacing, BOOLEAN);
    of.optional('handlerMetadata', handlerMetadata, METADATA_KEYS);
    for (const [name, value] of Object.entries(functions)) of.optional(name, value, A_FUNCTION);
  }
  return adapters as Readonly<Record<string, ContextAdapter>>;
}

export function invalidOptions(message: string, cause?: unknown): FreqLimitError {
  return new FreqLimitError('FREQ_LIMIT_INVALID_OPTIONS', message, { cause });
}
