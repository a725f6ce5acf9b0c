import type { Type } from '@nestjs/common';
import type { OnStoreError } from '../core/check.js';
import type { KeyValue } from './key/key-types.js';
import type { BlockOptions, CalendarWindow, CalendarWithoutAlgorithm, Window } from './rule.js';

/** The options of every counter of your own. */
interface CheckOptions {
  /** What to count by: a value, or a list of values. `['a:b', 'c']` and `['a', 'b:c']` are two counters. */
  readonly key: KeyValue | readonly KeyValue[];
  /**
   * Units that pass in a window, a whole number from 0.
   * @default none: the check only counts. `used - cost` in the result is what was used before it
   */
  readonly limit?: number | undefined;
  /**
   * Units to charge, a whole number from 0; 0 checks the limit without charging.
   * @default 1
   */
  readonly cost?: number | undefined;
  /**
   * The name in results. Checks with different names use different counters. 1 to 64 printable ASCII characters except
   * `"` and `\`.
   * @default none: results say `'check'`
   */
  readonly name?: string | undefined;
  /**
   * Whether to charge this check when the call is denied.
   * @default the module's `countDenied`, `false`
   */
  readonly countDenied?: boolean | undefined;
  /**
   * What applies if the store cannot answer: `'memory'`, `'allow'` or `'deny'`.
   * @default the module's `onStoreError`, `'memory'`
   */
  readonly onStoreError?: OnStoreError | undefined;
  /** Only in a `RuleCheck`. */
  readonly rule?: never;
}

/** Only in a `ConcurrencyCheck`. */
interface NoConcurrency {
  /** Only in a `ConcurrencyCheck`, without `window` and `limit`. */
  readonly concurrency?: undefined;
}

/** The part of a counter of your own that is different without an algorithm and blocks. */
export interface SimpleCheck extends CheckOptions, NoConcurrency {
  /**
   * A length, which begins with the first charge, or a period of the calendar, such as `{ calendar: 'month', timeZone:
   * 'Europe/Berlin' }`. A check with another window uses another counter.
   */
  readonly window: Window | ConstantZone<CalendarWindow>;
  /** Only with a window of a length: a period of the calendar counts until its end. */
  readonly algorithm?: undefined;
  /** Only with `algorithm: 'token-bucket'`. */
  readonly burst?: undefined;
  /** Only with a window of a length: a period of the calendar denies until its end. */
  readonly blockFor?: undefined;
  /** Only with `blockFor`. */
  readonly forgiveAfter?: undefined;
}

/** A counter of your own whose units refill evenly. */
export interface TokenBucketCheck extends CheckOptions, BlockOptions, NoConcurrency {
  /** The time in which `limit` units refill. A check with another length uses another counter. */
  readonly window: Window | CalendarWithoutAlgorithm;
  /** How it counts. A check with another algorithm uses another counter. */
  readonly algorithm: 'token-bucket';
  /** Units that refill in a window, a whole number from 0; 0 denies everything. */
  readonly limit: number;
  /**
   * Units that a full bucket contains, a whole number from 0. A higher cost never passes.
   * @default the limit
   */
  readonly burst?: number | undefined;
}

/** A counter of your own that counts in windows of a length. */
export interface WindowCheck extends CheckOptions, BlockOptions, NoConcurrency {
  /** Length of the window. A check with another length uses another counter. */
  readonly window: Window | CalendarWithoutAlgorithm;
  /**
   * How it counts. A check with another algorithm uses another counter.
   * @default the module's `algorithm`, `'fixed-window'`
   */
  readonly algorithm?: 'fixed-window' | 'sliding-window' | undefined;
  /** Only with `algorithm: 'token-bucket'`. */
  readonly burst?: undefined;
}

/** A counter of your own for how much runs at once, over all processes. It has no window. */
export interface ConcurrencyCheck extends Pick<CheckOptions, 'key' | 'name' | 'onStoreError' | 'rule'> {
  /** How much may run at once, a whole number from 0. */
  readonly concurrency: number;
  /** Only in a check without `concurrency`. */
  readonly window?: undefined;
  /** Only in a check without `concurrency`. */
  readonly limit?: undefined;
  /** Only in a check without `concurrency`. */
  readonly cost?: undefined;
  /** Only in a check without `concurrency`. */
  readonly algorithm?: undefined;
  /** Only in a check without `concurrency`. */
  readonly burst?: undefined;
  /** Only in a check without `concurrency`. */
  readonly blockFor?: undefined;
  /** Only in a check without `concurrency`. */
  readonly forgiveAfter?: undefined;
  /** Only in a check without `concurrency`. */
  readonly countDenied?: undefined;
}

/** A window of the calendar without a function, because a check has no context. */
type ConstantZone<Calendar> = {
  readonly [Option in keyof Calendar]: Option extends 'timeZone' ? string | undefined : Calendar[Option];
};

/** A counter of your own, separate from the counters of all rules. */
export type CounterCheck = SimpleCheck | TokenBucketCheck | WindowCheck;

/** The counter of a declared rule: the same that the guard charges. */
export interface RuleCheck {
  /** The name of the rule. */
  readonly rule: string;
  /**
   * The controller that the rule applies to.
   * @default none: the rule is one of the module's `rules`
   */
  readonly controller?: Type | undefined;
  /**
   * The name of the method that the rule applies to. Needs `controller`.
   * @default none: the rule applies to the whole controller, or to the module
   */
  readonly handler?: string | undefined;
  /**
   * The values of the client: one for each placeholder of the key in order, or what the key function would return.
   * @default none: the key has no placeholders
   */
  readonly key?: KeyValue | readonly KeyValue[];
  /**
   * Instead of `key`: the IP address of a client whose request lacked the key and was counted by its address.
   * @default none
   */
  readonly address?: string | undefined;
  /** The window to use if the window of the rule is a function. Invalid for any other rule. */
  readonly window?: Window | undefined;
  /** The time zone to use if the rule has a calendar whose time zone is a function. Invalid for any other rule. */
  readonly timeZone?: string | undefined;
  /**
   * Units that pass in a window. `consume` and `peek` need it if the limit of the rule is a function.
   * @default the limit of the rule
   */
  readonly limit?: number | undefined;
  /**
   * Units to charge, a whole number from 0; 0 checks the limit without charging.
   * @default the cost of the rule, or 1 if that is a function
   */
  readonly cost?: number | undefined;
  /**
   * Units that a full token bucket contains. `consume` and `peek` need it if the burst of the rule is a function. Invalid for
   * a rule that is not a token bucket.
   * @default the burst of the rule, or the limit
   */
  readonly burst?: number | undefined;
  /**
   * How many may run at once. `hold` and `peek` need it if the concurrency of the rule is a function. Invalid for a rule without
   * concurrency.
   * @default the concurrency of the rule
   */
  readonly concurrency?: number | undefined;
  /** Only in a `CounterCheck`: the rule has its name. */
  readonly name?: never;
  /** Only in a `CounterCheck`: the rule's own applies. */
  readonly algorithm?: never;
  /** Only in a `CounterCheck`: the rule's own applies. */
  readonly blockFor?: never;
  /** Only in a `CounterCheck`: the rule's own applies. */
  readonly forgiveAfter?: never;
  /** Only in a `CounterCheck`: the rule's own applies. */
  readonly countDenied?: never;
  /** Only in a `CounterCheck`: the rule's own applies. */
  readonly onStoreError?: never;
}

/** What `FreqLimitService` checks: a counter of your own, or the counter of a rule. */
export type FreqLimitCheck = CounterCheck | RuleCheck;

/** What `FreqLimitService.hold` checks: also how much runs at once. */
export type HoldCheck = FreqLimitCheck | ConcurrencyCheck;
