import type { Type } from '@nestjs/common';
import type { OnStoreError } from '../core/check.js';
import type { KeyValue } from './key/key-types.js';
import type { Window } from './rule.js';

/** A counter of your own, separate from the counters of all rules. */
export interface CounterCheck {
  /** What to count by: a value, or a list of values. `['a:b', 'c']` and `['a', 'b:c']` are two counters. */
  readonly key: KeyValue | readonly KeyValue[];
  /** Length of the window, which opens with the first charge. A check with another length uses another counter. */
  readonly window: Window;
  /**
   * Units that pass in a window, a whole number from 0.
   * @default none: the check only counts. `used - cost` in the result is what was used before it
   */
  readonly limit?: number | undefined;
  /**
   * Units to charge, a whole number from 0; 0 looks without charging.
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
   * What decides when the store cannot answer: `'memory'`, `'allow'` or `'deny'`.
   * @default the module's `onStoreError`, `'memory'`
   */
  readonly onStoreError?: OnStoreError | undefined;
  readonly rule?: never;
}

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
  /**
   * Units that pass in a window. `consume` and `peek` need it if the limit of the rule is a function.
   * @default the limit of the rule
   */
  readonly limit?: number | undefined;
  /**
   * Units to charge, a whole number from 0; 0 looks without charging.
   * @default the cost of the rule, or 1 if that is a function
   */
  readonly cost?: number | undefined;
  readonly name?: never;
  readonly countDenied?: never;
  readonly onStoreError?: never;
}

/** What `FreqLimitService` checks: a counter of your own, or the counter of a rule. */
export type FreqLimitCheck = CounterCheck | RuleCheck;
