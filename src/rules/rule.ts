import type { CalendarWindow } from './calendar/calendar-window.js';
import type { FromContext } from './key/key-types.js';
import type { RuleOptions, Window } from './rule-options.js';

export type { CalendarWindow } from './calendar/calendar-window.js';
export type { FromContext, KeyPart, KeySpec, KeyValue, Normalize } from './key/key-types.js';
export type {
  ActualCost,
  CountWhen,
  DenialMessage,
  OnMissingKey,
  Outcome,
  Scope,
  Window,
} from './rule-options.js';

// The order of the kinds of rules here decides which of them compilers name in their errors: the last one.

/**
 * How a rule counts.
 *
 * - `'fixed-window'`: a window opens with the first request and ends one length later. Around its end, up to twice the limit
 *   can pass in a short time.
 * - `'sliding-window'`: at most `limit` units in every interval of the window's length. A charge counts up to 1/16 of the
 *   window longer than that.
 * - `'token-bucket'`: up to `burst` units at once, refilled evenly by `limit` units per window.
 */
export type Algorithm = 'fixed-window' | 'sliding-window' | 'token-bucket';

/** What happens to a client that crosses a limit. */
export interface BlockOptions {
  /**
   * How long a client is denied after it crosses the limit: a string with a unit, a number of seconds, or a list of up to 10
   * of them for the first, second, … block, of which the last one repeats. A block lasts at least until the client has all its
   * units again. Denied requests do not extend it, and a refund does not end it. A shadow rule begins no block, and neither
   * does a request that could never pass.
   * @default none: a denied client waits until its request would pass
   */
  readonly blockFor?: Window | readonly Window[] | undefined;
  /**
   * How long after the end of a client's last block the first length of `blockFor` applies again.
   * @default 10 times the last length of `blockFor`, and at least a day
   */
  readonly forgiveAfter?: Window | undefined;
}

declare const CALENDAR_HAS_NO_ALGORITHM_BURST_OR_BLOCK: unique symbol;

/** No value has this property. */
interface CalendarHasNoAlgorithm {
  readonly [CALENDAR_HAS_NO_ALGORITHM_BURST_OR_BLOCK]: never;
}

/**
 * The type of no value. For a calendar next to options that it cannot have, compilers would say that the name of the unit is
 * wrong. With this type, they name the missing property.
 */
export type CalendarWithoutAlgorithm = CalendarWindow & CalendarHasNoAlgorithm;

/** Options of a rule with a window that a rule of `concurrency` cannot have. */
interface NoConcurrency {
  /** Limits how many requests run at once. Only without `window` and `limit`. */
  readonly concurrency?: undefined;
  /** Only with `concurrency`. */
  readonly holdFor?: undefined;
}

/**
 * How long a request holds its slot of a rule with `concurrency`.
 *
 * - `'request'`: until its response is complete or its client is gone; of messages and subscriptions until their result ends;
 * - `'connection'`: until the client of the WebSocket gateway disconnects.
 */
export type HoldFor = 'request' | 'connection';

/** A rule that limits how many requests run at once, over all processes. It has no window. */
export interface ConcurrencyRule extends Omit<RuleOptions, keyof WithoutConcurrency> {
  /** Requests that may run at once, a whole number of at least 0; 0 denies every request. */
  readonly concurrency: number | FromContext<number>;
  /**
   * How long a request holds its slot. `'connection'` is only possible for messages of a WebSocket gateway.
   * @default 'request'
   */
  readonly holdFor?: HoldFor | undefined;
  /** Only without `concurrency`: a request counts while it runs. */
  readonly window?: undefined;
  /** Only without `concurrency`, which is the limit of the rule. */
  readonly limit?: undefined;
  /** Only without `concurrency`: each request uses one slot. */
  readonly cost?: undefined;
  /** Only without `concurrency`. */
  readonly actualCost?: undefined;
  /** Only without `concurrency`. */
  readonly maxShare?: undefined;
  /** Only without `concurrency`. */
  readonly algorithm?: undefined;
  /** Only without `concurrency`. */
  readonly burst?: undefined;
  /** Only without `concurrency`. */
  readonly blockFor?: undefined;
  /** Only without `concurrency`. */
  readonly forgiveAfter?: undefined;
  /** Only without `concurrency`: a denied request runs no longer. */
  readonly countDenied?: undefined;
  /** Only without `concurrency`: each request counts while it runs. */
  readonly countWhen?: undefined;
}

/** Options of rules with a window. */
type WithoutConcurrency = Pick<
  RuleOptions,
  'limit' | 'cost' | 'actualCost' | 'maxShare' | 'countDenied' | 'countWhen'
>;

/** A rule with a window of any kind, and without an algorithm and blocks. */
export interface SimpleRule extends RuleOptions, NoConcurrency {
  /**
   * A length: a string with a unit, or a number of seconds. Or a period of the calendar, such as `{ calendar: 'month',
   * timeZone: 'Europe/Berlin' }`. A changed window starts new counters.
   */
  readonly window: Window | FromContext<Window> | CalendarWindow;
  /** Only with a window of a length: a period of the calendar counts until its end. */
  readonly algorithm?: undefined;
  /** Only with `algorithm: 'token-bucket'`. */
  readonly burst?: undefined;
  /** Only with a window of a length: a period of the calendar denies a client until its end. */
  readonly blockFor?: undefined;
  /** Only with `blockFor`. */
  readonly forgiveAfter?: undefined;
}

/** A rule whose units refill evenly. */
export interface TokenBucketRule extends RuleOptions, BlockOptions, NoConcurrency {
  /** The time in which `limit` units refill: a string with a unit, or a number of seconds. A changed window starts new counters. */
  readonly window: Window | FromContext<Window> | CalendarWithoutAlgorithm;
  /** How the rule counts. A changed algorithm starts new counters. */
  readonly algorithm: 'token-bucket';
  /**
   * Units that a full bucket contains, a whole number of at least 0; 0 denies every request. A request with a higher cost
   * never passes.
   * @default the limit
   */
  readonly burst?: number | FromContext<number> | undefined;
}

/** A rule that counts in windows of a length. */
export interface WindowRule extends RuleOptions, BlockOptions, NoConcurrency {
  /** Length of the window: a string with a unit, or a number of seconds. A changed window starts new counters. */
  readonly window: Window | FromContext<Window> | CalendarWithoutAlgorithm;
  /**
   * How the rule counts. A changed algorithm starts new counters.
   * @default the module's `algorithm`, which is `'fixed-window'`
   */
  readonly algorithm?: 'fixed-window' | 'sliding-window' | undefined;
  /** Only with `algorithm: 'token-bucket'`. */
  readonly burst?: undefined;
}

/** A limit: how many requests may pass in a window, and what they are counted by. */
export type FreqLimitRule = SimpleRule | TokenBucketRule | WindowRule;

/** A limit of any kind: how many requests may pass in a window, or run at once. */
export type AnyRule = ConcurrencyRule | FreqLimitRule;

/** A rule without its name. */
type Unnamed<Rule> = Rule extends unknown ? Omit<Rule, 'name'> : never;

/** An entry of `namedRules`, which has its name there. */
export type NamedRule = Unnamed<FreqLimitRule>;

/** The same of any kind. */
export type AnyNamedRule = Unnamed<AnyRule>;

/** What a reference changes in a rule of `namedRules`: any option except `name`. */
export type RuleChanges = Partial<AnyNamedRule>;
