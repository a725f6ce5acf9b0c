import type { AnswerOptions, ExceptionFactory } from './answers/answer-options.js';
import type { ErrorFormat } from './answers/error-body.js';
import type { HeadersOption } from './answers/headers.js';
import type { ContextAdapter } from './contexts/context-adapter.js';
import type { IsSkipped } from './contexts/skip-clients.js';
import type { OnStoreError } from './core/check.js';
import type { HashKeys } from './core/key-hash.js';
import type { FreqLimitHook, HookOptions } from './decisions/events.js';
import type { PlanOptions } from './plans/plan-options.js';
import type { NamedRules } from './rules/named-rules.js';
import type { Algorithm, DenialMessage, AnyRule, FromContext, KeySpec, OnMissingKey } from './rules/rule.js';
import type { StoreOptions } from './store/create-store.js';
import type { HashTag } from './store/redis/hash-tags.js';
import type { RedisOption } from './store/redis/redis-option.js';

/** The options of `FreqLimitModule.forRoot`, and the result of a `forRootAsync` factory. All are optional. */
export interface FreqLimitOptions {
  /**
   * The Redis that counts for all processes: a URL, ioredis options, `{ cluster: [nodes], options }`, or an ioredis client
   * (`Redis` or `Cluster`). A connection made from a URL or options is closed with the application; a client that you
   * pass in stays open. `false` counts in the memory of this process: a restart forgets all counts, and each process
   * allows the full limit. `undefined`, for example from an environment variable that is not set, does the same and logs
   * a warning.
   * @default none: counts in the memory of this process; logs a warning if `NODE_ENV` is `production`
   */
  readonly redis?: RedisOption | false | undefined;
  /**
   * Prefix of all keys in Redis, 1 to 32 of `A-Z a-z 0-9 . _ : -`. Applications with the same namespace and Redis share
   * counters.
   * @default 'fl'
   */
  readonly namespace?: string | undefined;
  /**
   * Rules for all handlers of the application, before those of controllers and handlers. A string is the name of a rule
   * in `namedRules`.
   * @default none
   */
  readonly rules?: readonly (AnyRule | string)[] | undefined;
  /**
   * Rules to refer to by name, as in `@FreqLimit('login')`. A referenced rule counts as if it were written there. All are
   * checked at start-up, even without a reference.
   * @default none
   */
  readonly namedRules?: NamedRules | undefined;
  /**
   * The key of rules without their own.
   * @default '{ip}'
   */
  readonly defaultKey?: KeySpec | undefined;
  /**
   * Keeps phone numbers, e-mail and IP addresses out of Redis: user-supplied parts of keys are stored only as HMAC-SHA-256
   * (RFC 2104) with this secret, a string or `Buffer` of at least 16 characters or bytes. A new secret starts all counters
   * again.
   * @default none: short values of simple characters are stored as they are, others as a hash without a secret
   */
  readonly hashKeys?: HashKeys | undefined;
  /**
   * What happens to a request without a value for the key of a rule: it is counted by IP address (`'ip'`), the rule is
   * skipped (`'skip'`), or the request gets 400 (`'deny'`).
   * @default 'ip'
   */
  readonly onMissingKey?: OnMissingKey | undefined;
  /**
   * Whether denied requests are charged, for rules without their own `countDenied`.
   * @default false
   */
  readonly countDenied?: boolean | undefined;
  /**
   * How rules and checks without their own `algorithm` count, except those with a calendar window. Another algorithm starts
   * new counters.
   * @default 'fixed-window'
   */
  readonly algorithm?: Algorithm | undefined;
  /**
   * Skips all rules for a request if it returns exactly `true`. If it throws, the request gets 500.
   * @default none
   */
  readonly skipIf?: FromContext<boolean | undefined> | undefined;
  /**
   * Skips all rules for these addresses and ranges, such as `'203.0.113.7'`, `'10.0.0.0/8'`, `'2001:db8::/32'`. They are
   * compared with `request.ip`, whatever `ipv6Subnet` is, so configure the trusted proxies of your HTTP platform.
   * @default none
   */
  readonly skipAddresses?: readonly string[] | undefined;
  /**
   * Skips all rules if the `User-Agent` header matches one of these patterns or contains one of these strings. Any client
   * can send any user agent, so this protects nothing.
   * @default none
   */
  readonly skipUserAgents?: readonly (RegExp | string)[] | undefined;
  /**
   * Rate limit headers of responses: `'draft'` (the newest of draft-ietf-httpapi-ratelimit-headers), `'draft-12'`,
   * `'draft-11'`, `'legacy'` (`X-RateLimit-*`), `'both'`, `'retry-after'` (only that, on denials) or `'none'`.
   * @default 'draft'
   */
  readonly headers?: HeadersOption | undefined;
  /**
   * Whether the draft's headers have a partition key `pk` for each rule that counts by a value, so that a client acting for
   * several users can distinguish their limits. It is a hash of the value and needs `hashKeys`.
   * @default false
   */
  readonly partitionKeys?: boolean | undefined;
  /**
   * Format of error bodies: that of Nest's exceptions, or `'problem'` for problem details (RFC 9457).
   * @default 'nest'
   */
  readonly errorFormat?: ErrorFormat | undefined;
  /**
   * Message of denials: a string, or a function of the verdict and the context, for example to translate it. If a function
   * fails, the default message is used and a line is logged.
   * @default 'Too many requests. Try again in 8 seconds.'
   */
  readonly message?: DenialMessage | undefined;
  /**
   * Makes the exception of denials, on every transport. Rules' `statusCode` and `message` then have no effect. If it
   * fails, the default exception is used and a line is logged.
   * @default `FreqLimitExceededException`, or the exception of the transport
   */
  readonly exceptionFactory?: ExceptionFactory | undefined;
  /**
   * Called on every verdict of the guard and of `FreqLimitService.consume`; not awaited.
   * @default none
   */
  readonly onVerdict?: FreqLimitHook | undefined;
  /**
   * Called on every denial; not awaited.
   * @default none
   */
  readonly onDenied?: FreqLimitHook | undefined;
  /**
   * How to read and answer requests of a kind of context (`context.getType()`) that the library does not know, or should
   * handle differently: `{ ws: { address: (context) => … } }`.
   * @default `http`, `graphql`, `ws` and `rpc` are built in
   */
  readonly contextAdapters?: Readonly<Record<string, ContextAdapter>> | undefined;
  /**
   * Bits of an IPv6 address that identify a client, 32 to 128. A host can usually choose any address of its /64
   * (RFC 7421), so each /64 is one client.
   * @default 64
   */
  readonly ipv6Subnet?: number | undefined;
  /**
   * Maximum number of counters in memory, without `redis` or while it is unavailable: 1 to 10,000,000. One takes 220 to
   * 320 bytes.
   * @default 100000
   */
  readonly maxCounters?: number | undefined;
  /**
   * Milliseconds that a request waits for Redis, 1 to 60000; after that `onStoreError` applies.
   * @default 250
   */
  readonly timeoutMs?: number | undefined;
  /**
   * What applies if Redis cannot answer, for rules without their own `onStoreError`: `'memory'` counts in this process,
   * `'allow'` lets requests pass, `'deny'` answers 503. `'allow'` can be abused: slowing Redis down disables the limit.
   * @default 'memory'
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * Whether a wrong configuration of Redis stops the application at start-up: a wrong password, a missing permission, an
   * unknown host or database, and the like. An outage does not. The start waits up to 5 s for Redis. The error is a
   * `FreqLimitError` with the code `FREQ_LIMIT_STORE_FAILED`.
   * @default false: the application starts, and `onStoreError` applies
   */
  readonly requireStore?: boolean | undefined;
  /**
   * This process's share of every limit while `'memory'` applies, above 0 and at most 1: with four processes, 0.25 keeps
   * them at the limit together. At least one request is always allowed.
   * @default 1: each process allows the whole limit
   */
  readonly fallbackShare?: number | undefined;
  /**
   * Only for a Redis Cluster: returns the hash tag of a counter, 1 to 64 characters without braces and spaces. Counters
   * with the same tag are in one slot and are decided in one step.
   * @see https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags
   * @default none: one of 256 tags, computed from the value that is counted by
   */
  readonly hashTag?: HashTag | undefined;
  /**
   * Whether the checks of requests that arrive in the same turn of the event loop share a call to Redis. Each request is
   * still decided separately.
   * @default true
   */
  readonly coalesce?: boolean | undefined;
  /**
   * Whether this process remembers counters that are at their limit, and denies further requests without a call to Redis.
   * It denies only what Redis would deny, but sees a `reset()` or a refund in another process, or a refund in a Cluster, up
   * to a second late.
   * @default true
   */
  readonly denyCache?: boolean | undefined;
}

/** The checked options, with all defaults. Frozen. */
export interface ResolvedOptions extends PlanOptions, AnswerOptions, StoreOptions, HookOptions {
  readonly skipIf: FromContext<unknown> | undefined;
  /** `skipAddresses` and `skipUserAgents`; `undefined` if both are empty. */
  readonly isSkipped: IsSkipped | undefined;
  readonly contextAdapters: Readonly<Record<string, ContextAdapter>>;
  readonly ipv6Subnet: number;
}
