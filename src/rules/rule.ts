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

/** A rule with a window of any kind, and without an algorithm and blocks. */
export interface SimpleRule extends RuleOptions {
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
export interface TokenBucketRule extends RuleOptions, BlockOptions {
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
export interface WindowRule extends RuleOptions, BlockOptions {
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

/** A rule without its name. */
type Unnamed<Rule> = Rule extends unknown ? Omit<Rule, 'name'> : never;

/** An entry of `namedRules`, which has its name there. */
export type NamedRule = Unnamed<FreqLimitRule>;

/** What a reference changes in a rule of `namedRules`: any option except `name`. */
export type RuleChanges = Partial<NamedRule>;
