import type { ExecutionContext } from '@nestjs/common';
import type { OnStoreError } from '../core/check.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';

/**
 * A length of time: a text with its unit (`'500ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`), or a number of **seconds**.
 * At least one millisecond, at most 2^53 - 1 of them, and a whole number of milliseconds.
 */
export type Window = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`;

/** A function of the handler's execution context, sync or async, called once per visit. */
export type FromContext<T> = (context: ExecutionContext) => MaybePromise<T>;

/** A value that can be counted by. A number and its text are one value; `''`, `null` and `undefined` are none. */
export type KeyValue = string | number | bigint | boolean | null | undefined;

/**
 * Whom a rule counts by.
 *
 * - A text is a template: `{ip}`, `{user.id}`, `{body.phone}`, `{params.id}`, `{query.q}`, `{headers.x-api-key}`.
 *   One without placeholders is one counter for all callers together.
 * - A function of the context answers the value, or a list of values.
 * - A list holds templates and functions; its parts never run into each other.
 */
export type KeySpec = KeyPart | readonly KeyPart[];
export type KeyPart = string | FromContext<KeyValue | readonly KeyValue[]>;

/**
 * How values are spelt before they are counted by.
 *
 * - `'email'`: NFKC, without control and zero-width characters and blanks around it, lower case, an international
 *   domain in ASCII; dots and `+tags` stay;
 * - `'phone'`: the digits, with a `+` where it begins with `+` or `00`; `138…` and `+86138…` stay two;
 * - a function from text to text, sync; `''` is a missing key.
 *
 * `'email'` and `'phone'` accept at most 1,024 characters: a request with a longer value is denied with 400.
 */
export type Normalize = 'email' | 'phone' | ((value: string) => string);

/**
 * What counts together: the visits of one `handler`, of one `controller` with all its handlers, or of the whole `app`.
 */
export type Scope = 'handler' | 'controller' | 'app';

/**
 * What happens to a visit that lacks what the key names (no `body.phone`, or an array there).
 *
 * - `'ip'`: it is counted by its address, on a counter of that rule's own;
 * - `'skip'`: the rule does not apply to it;
 * - `'deny'`: it is refused with 400, and nothing is counted.
 */
export type OnMissingKey = 'ip' | 'skip' | 'deny';

/** What a reference changes of a rule of the module's `namedRules`; the name stays. */
export type RuleChanges = Partial<Omit<FreqLimitRule, 'name'>>;
/** How an invocation of a handler ended. */
export interface Outcome {
  /**
   * Whether the handler answered. It did not where it threw, where a guard or a pipe behind the limit refused the visit,
   * or where the HTTP status of the answer is 400 or more.
   */
  readonly succeeded: boolean;
  /** The HTTP status of the answer, or of what was thrown; `undefined` where there is none. */
  readonly statusCode: number | undefined;
  /** What was thrown, as far as it is known. */
  readonly error: unknown;
  readonly context: ExecutionContext;
}

/**
 * Which visits count, by how they ended: all (`'request'`), those that succeeded, or those that failed, such as wrong
 * passwords. A function answers whether the visit counts; only exactly `false` gives it back.
 *
 * Every visit is charged when it comes, so that never more than `limit` are under way, and given back when it ends as
 * one that does not count. What cannot be known, as after a connection that was cut, counts.
 */
export type CountWhen = 'request' | 'success' | 'failure' | ((outcome: Outcome) => MaybePromise<boolean>);

/** What a denied caller is told. */
export type DenialMessage = string | ((verdict: Verdict, context: ExecutionContext) => MaybePromise<string>);

/** A limit on how often something may happen. */
export interface FreqLimitRule {
  /** How long a counter lives; the window opens at the first visit. A counter belongs to its window: a changed window counts anew. */
  readonly window: Window | FromContext<Window>;
  /** Units that may pass in a window, a whole number ≥ 0 (0 closes the handler). A changed limit holds at once, on the same counter. */
  readonly limit: number | FromContext<number>;
  /**
   * Whom to count by.
   * @default the module's `defaultKey`, `'{ip}'`
   */
  readonly key?: KeySpec | undefined;
  /**
   * How values of the key are spelt before they are counted by, those of `{ip}` aside: one for all placeholders and for
   * what key functions answer, or one for each placeholder by its path, such as `{ 'body.email': 'email' }`.
   * @default as they are
   */
  readonly normalize?: Normalize | Readonly<Record<string, Normalize>> | undefined;
  /**
   * Names the rule in headers, results and `@SkipFreqLimit(name)`. A handler's rule replaces the controller's or the
   * module's rule of the same name. 1 to 64 of `A-Z a-z 0-9 _ . -`.
   * @default none: the rule replaces none, and headers call it after its window
   */
  readonly name?: string | undefined;
  /**
   * What counts together.
   * @default where the rule is written: `'handler'`, `'controller'`, or `'app'` in the module's `rules`
   */
  readonly scope?: Scope | undefined;
  /**
   * What happens to a visit that lacks what the key names.
   * @default the module's `onMissingKey`, `'ip'`
   */
  readonly onMissingKey?: OnMissingKey | undefined;
  /**
   * Units one visit consumes, a whole number ≥ 0; 0 looks at the counter without charging it.
   * @default 1
   */
  readonly cost?: number | FromContext<number> | undefined;
  /**
   * Whether a visit counts here even when it is denied, by this rule or by another.
   * @default the module's `countDenied`, `false`: a denied visit is charged nowhere
   */
  readonly countDenied?: boolean | undefined;
  /**
   * What decides when the store cannot answer. Of several rules of a request the strictest outcome stands.
   * @default the module's `onStoreError`, `'memory'`
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * Leaves the rule out for a visit when it answers exactly `true`. What it throws is a 500 of that request.
   * @default never
   */
  readonly skipIf?: FromContext<boolean | undefined> | undefined;
  /**
   * Which visits count, by how they ended.
   * @default 'request': all that are not denied
   */
  readonly countWhen?: CountWhen | undefined;
  /**
   * Counts and reports, and never denies: for trying a limit on live traffic. Its results carry `shadow: true`, headers
   * leave it out, and the log tells how many visits it would have denied.
   * @default false
   */
  readonly shadow?: boolean | undefined;
  /**
   * The status of a denial by this rule, 400 to 599.
   * @default 429
   */
  readonly statusCode?: number | undefined;
  /**
   * What a caller denied by this rule is told.
   * @default the module's `message`
   */
  readonly message?: DenialMessage | undefined;
  /**
   * Keeps the rule out of the `RateLimit` and `X-RateLimit` headers, and its name out of problem details: for a limit
   * whose numbers are nobody's business, such as one by an account that a stranger may name.
   * @default false
   */
  readonly hidden?: boolean | undefined;
}
