import type { Check, OnStoreError } from '../core/check.js';
import type { Block } from '../core/counter-kind.js';
import type { FreqLimitError } from '../core/errors.js';
import type { KeyHasher } from '../core/key-hash.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { OptionErrors } from '../core/option-table.js';
import type { AnyWindow } from './any-window.js';
import type { CompiledKey } from './key/key-types.js';
import type { KindName } from './rule-kind.js';
import type { ValueWatch } from './value-watch.js';
import type {
  Algorithm,
  DenialMessage,
  AnyRule,
  FromContext,
  HoldFor,
  OnMissingKey,
  Outcome,
  Scope,
} from './rule.js';

/** A rule as it was declared, and where. */
export interface DeclaredRule {
  readonly rule: AnyRule;
  /** The entry of `namedRules` that is referred to; `rule` is then what the reference changes. */
  readonly named?: string | undefined;
  /** The level at which the rule is declared. It is also the rule's scope unless the rule has another. */
  readonly level: Scope;
  /** The place as messages show it: `@FreqLimit on SmsController.send`. */
  readonly place: string;
  /** The place of its key, if that is another one: the named rule that is referred to. */
  readonly keyPlace?: string | undefined;
  /** Why it is not known what the rule is, such as a wrong reference. */
  readonly error?: FreqLimitError | undefined;
}

/** The module's options that apply to a rule without its own. */
export interface RuleDefaults {
  readonly namespace: string;
  readonly defaultKey: AnyRule['key'];
  readonly onMissingKey: OnMissingKey;
  readonly countDenied: boolean;
  readonly onStoreError: OnStoreError;
  /** Of rules with a window of a length. */
  readonly algorithm: Algorithm;
  /** Hashes values from clients, if `hashKeys` is set. */
  readonly hashKey: KeyHasher;
  /** The errors of wrong options, which have their defaults; `undefined` if all options are right. */
  readonly errors?: OptionErrors | undefined;
}

/** The class and handler that a rule is planned for. They make its counters distinct. */
export interface Owner {
  /** `SmsController`. */
  readonly className: string;
  /** Distinguishes the class from others of the same name. It is equal in every process. */
  readonly classIdentity: string;
  /** `send`; `undefined` for the class as a whole. */
  readonly handler: string | undefined;
}

/** What the counters of a rule have in common for one request. */
export type CounterType = Pick<Check, 'group' | 'windowMs' | 'kind'>;

/** A rule that is checked and compiled for one handler, so that a request parses and validates nothing. */
export interface PlannedRule {
  /** The declared name; `undefined` for a rule without one. */
  readonly declaredName: string | undefined;
  /** The name in headers and results. */
  readonly name: string;
  /** Where the rule is declared, as messages show it. */
  readonly place: string;
  /** Where its key is written: there, in a named rule, or in `defaultKey`. */
  readonly keyPlace: string;
  /** The level at which the rule is declared. */
  readonly level: Scope;
  readonly scope: Scope;
  /** Identifies the rule's counters: rules with the same id, window and kind share them. */
  readonly id: string;
  readonly key: CompiledKey;
  /** A length in milliseconds, a function that returns a window of a length, or a calendar. */
  readonly window: AnyWindow;
  /** The length of the window in milliseconds, the time zone of a calendar, or the function that returns it. */
  readonly span: number | string | FromContext<unknown>;
  readonly kindName: KindName;
  /** The limit, or the concurrency. */
  readonly limit: number | FromContext<unknown>;
  /** How long a request holds its slot of a rule with `concurrency`; of no meaning for other rules. */
  readonly holdFor: HoldFor;
  /** Of a token bucket; `undefined` if it is the limit. */
  readonly burst: number | FromContext<unknown> | undefined;
  /** `undefined` also for a shadow rule, which begins no block. */
  readonly block: Block | undefined;
  readonly cost: number | FromContext<unknown>;
  /** What a request has really used; `undefined` if its cost is final. */
  readonly actualCost: ((outcome: Outcome) => MaybePromise<unknown>) | undefined;
  /** The share of the limit that one request may use; `undefined` for all of it. */
  readonly maxShare: number | undefined;
  readonly onMissingKey: OnMissingKey;
  readonly countDenied: boolean;
  readonly onStoreError: OnStoreError;
  readonly skipIf: FromContext<unknown> | undefined;
  /** Whether a request with this outcome counts; `undefined` if all do. */
  readonly shouldCount: ((outcome: Outcome) => MaybePromise<unknown>) | undefined;
  readonly shadow: boolean;
  readonly statusCode: number;
  readonly message: DenialMessage | undefined;
  readonly hidden: boolean;
  /** The prefix of the counters' keys. */
  readonly keyPrefixFor: (span: number | string) => string;
  /**
   * What the counters have in common for a request.
   * @param span the length of the window in milliseconds, or the time zone of a calendar
   * @param units of a full bucket; of no meaning for other kinds
   */
  readonly counterFor: (span: number | string, units: number) => CounterType;
  /** Hashes the encoded values that follow the prefix. A constant key is not hashed. */
  readonly hashKey: KeyHasher;
  /** Whether the rule has no functions: then its check is made without waiting, and cannot fail. */
  readonly isStatic: boolean;
  /** Watches the first requests for values that are always missing; `undefined` when it is over, and before requests come. */
  valueWatch: ValueWatch | undefined;
}
