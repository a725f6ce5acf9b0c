import type { ExecutionContext } from '@nestjs/common';
import type { OnStoreError } from '../core/check.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import type { FromContext, KeySpec, Normalize } from './key/key-types.js';

/**
 * A length of time: a string with a unit (`'500ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`), or a number of **seconds**.
 * From 1 ms to 2^53 - 1 ms, in whole milliseconds.
 */
export type Window = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`;

/**
 * Which requests share a counter: those of one `'handler'`, of all handlers of a `'controller'`, or of the whole `'app'`.
 */
export type Scope = 'handler' | 'controller' | 'app';

/**
 * What happens to a request without a value for the key, for example without `body.phone`, or with an array there.
 *
 * - `'ip'`: it is counted by its IP address, on a separate counter of the rule;
 * - `'skip'`: the rule does not apply to it;
 * - `'deny'`: it gets 400, and nothing is counted.
 */
export type OnMissingKey = 'ip' | 'skip' | 'deny';

/** How a request ended, for the functions `countWhen` and `actualCost`. */
export interface Outcome {
  /**
   * Whether the request succeeded. It failed if the handler threw, if a later guard or a pipe rejected the request, or if
   * the HTTP status of the response is 400 or more.
   */
  readonly succeeded: boolean;
  /** The HTTP status of the response or of the exception; `undefined` if there is none. */
  readonly statusCode: number | undefined;
  /** The thrown value; `undefined` if nothing was thrown, or if it is unknown. */
  readonly error: unknown;
  /**
   * What the handler returned, after the interceptors of its method; of several values, the last one, or with `countWhen` alone
   * the first. `undefined` if it failed, or if the handler sends the response itself.
   */
  readonly result: unknown;
  /** The execution context of the request. */
  readonly context: ExecutionContext;
}

/**
 * Which requests count, by their outcome: all (`'request'`), only those that succeed (`'success'`), or only those that
 * fail (`'failure'`), such as wrong passwords. A function returns whether the request counts; `false` refunds it, any other
 * value does not.
 *
 * Every request is charged when it arrives, so at most `limit` of them run at the same time. A request that should not
 * count is refunded when it ends. If the outcome is unknown, for example after a lost connection, the request counts.
 */
export type CountWhen = 'request' | 'success' | 'failure' | ((outcome: Outcome) => MaybePromise<boolean>);

/**
 * Returns how many units a request has really used, a whole number of at least 0. If it is less than the `cost`, the rest is
 * refunded; if it is more, the difference is charged, whatever the limit.
 */
export type ActualCost = (outcome: Outcome) => MaybePromise<number>;

/** The message of a denial: a string, or a function that returns one, for example in the client's language. */
export type DenialMessage = string | ((verdict: Verdict, context: ExecutionContext) => MaybePromise<string>);

/** The options of every rule, whatever its algorithm. */
export interface RuleOptions {
  /**
   * Units allowed in a window, a whole number of at least 0; 0 denies every request. A changed limit applies at once, to
   * the existing counters.
   */
  readonly limit: number | FromContext<number>;
  /**
   * What requests are counted by: a template such as `'{user.id}'`, a function of the context, or a list of both. For one
   * counter of all clients write `'all'`, or a key that begins with `'all:'`; any other constant is logged at start-up.
   * @default the module's `defaultKey`, which is `'{ip}'`
   */
  readonly key?: KeySpec | undefined;
  /**
   * Normalizes the values of the key, so that different spellings share a counter: one way for all values, or one for each
   * placeholder, such as `{ 'body.email': 'email' }`. It does not apply to `{ip}`.
   * @default none: values count as they are
   */
  readonly normalize?: Normalize | Readonly<Record<string, Normalize>> | undefined;
  /**
   * Name of the rule in headers, results and `@SkipFreqLimit(name)`: 1 to 64 of `A-Z a-z 0-9 _ . -`, a letter or digit
   * first. If two rules share a name, the one closest to the handler wins.
   * @default none: the rule replaces no other, and headers show its window, such as `1m`
   */
  readonly name?: string | undefined;
  /**
   * Which requests share a counter.
   * @default by place: `'handler'` or `'controller'` for a decorator, `'app'` in the module's `rules`
   */
  readonly scope?: Scope | undefined;
  /**
   * What happens to a request without a value for the key.
   * @default the module's `onMissingKey`, which is `'ip'`
   */
  readonly onMissingKey?: OnMissingKey | undefined;
  /**
   * Units that one request uses, a whole number of at least 0; 0 checks the limit without charging.
   * @default 1
   */
  readonly cost?: number | FromContext<number> | undefined;
  /**
   * What the request has really used, if that is known only afterwards. `cost` is then an estimate of at least 1, which is
   * charged first. Called once, when the handler has succeeded. If the handler or the function fails, the estimate stays
   * charged. If the client disconnects first, a lower cost refunds nothing, and a higher one is charged.
   * @default none: the cost is final
   */
  readonly actualCost?: ActualCost | undefined;
  /**
   * The share of the limit, or of the burst of a token bucket, that one request may use, above 0 and at most 1. A request with a
   * higher cost is denied and charges nothing. A share of less than one unit is one unit.
   * @default none: a request with a cost above the limit is denied as by any rule
   */
  readonly maxShare?: number | undefined;
  /**
   * Whether denied requests are charged to this rule, whichever rule denies them.
   * @default the module's `countDenied`, which is `false`
   */
  readonly countDenied?: boolean | undefined;
  /**
   * What applies if Redis cannot answer: `'memory'`, `'allow'` or `'deny'` (503). If the rules of a request differ, the
   * strictest wins.
   * @default the module's `onStoreError`, which is `'memory'`
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * Skips the rule for a request if it returns exactly `true`. If it throws, the request gets 500.
   * @default none
   */
  readonly skipIf?: FromContext<boolean | undefined> | undefined;
  /**
   * Which requests count, by their outcome.
   * @default 'request': all that are not denied
   */
  readonly countWhen?: CountWhen | undefined;
  /**
   * Counts and reports, but never denies or blocks: to try a limit on real traffic. Its results have `shadow: true`, headers
   * omit it, and the log says how many requests it would have denied.
   * @default false
   */
  readonly shadow?: boolean | undefined;
  /**
   * HTTP status of a denial by this rule, 400 to 599.
   * @default 429 (RFC 6585, section 4)
   */
  readonly statusCode?: number | undefined;
  /**
   * Message of a denial by this rule. If a function fails, the default message is used and a line is logged.
   * @default the module's `message`
   */
  readonly message?: DenialMessage | undefined;
  /**
   * Omits the rule from the `RateLimit` and `X-RateLimit` headers, and its name from problem details. Use it if clients
   * must not see the numbers, for example of a limit by account.
   * @default false
   */
  readonly hidden?: boolean | undefined;
}
