import { Inject, Injectable, type Type } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import type { Check, CheckResult, OnStoreError } from './core/check.js';
import { formatForLog, invalidCheck } from './core/errors.js';
import { BOOLEAN, COUNT, type Validator, matching, OptionReader } from './core/validate.js';
import type { MaybePromise } from './core/maybe-promise.js';
import { keyPrefix, ruleId } from './core/counter-key.js';
import { toVerdict, UNLIMITED, type Verdict } from './core/verdict.js';
import {
  FREQ_LIMIT_PLANS,
  FREQ_LIMIT_EVENTS,
  FREQ_LIMIT_RESOLVED_OPTIONS,
  FREQ_LIMIT_STORE,
} from './core/tokens.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import type { FreqLimitPlans } from './plans/plans.js';
import type { VerdictEvents } from './decisions/events.js';
import { canonicalAddress } from './contexts/client-address.js';
import { toWindowMs } from './rules/window.js';
import { textOfAll } from './rules/key/compile-key.js';
import { NormalizeError } from './rules/key/normalize.js';
import type { PlannedRule } from './rules/planned-rule.js';
import { ON_STORE_ERROR } from './rules/validators.js';
import { normalizeFailed, textByAddress } from './rules/to-checks.js';
import type { KeyValue, Window } from './rules/rule.js';
import type { Store, StoreHealth } from './core/store.js';

/** A counter of your own, apart from those of all rules. */
export interface CounterCheck {
  /** Whom or what to count by: a value, or a list of values that never run into each other. */
  readonly key: KeyValue | readonly KeyValue[];
  /** How long a counter lives, from its first visit. A changed window is another counter. */
  readonly window: Window;
  /**
   * Units that may pass in a window.
   * @default none: the visit is only counted, and `used - cost` is the number of visits before it
   */
  readonly limit?: number | undefined;
  /**
   * Units this visit consumes; 0 looks without charging.
   * @default 1
   */
  readonly cost?: number | undefined;
  /**
   * Names the counter in results, and sets it apart from those of other names.
   * @default 'check'
   */
  readonly name?: string | undefined;
  /** @default the module's `countDenied`, `false` */
  readonly countDenied?: boolean | undefined;
  /** @default the module's `onStoreError`, `'memory'` */
  readonly onStoreError?: OnStoreError | undefined;
  readonly rule?: never;
}

/** A counter of a declared rule, the one that the guard charges. */
export interface RuleCheck {
  /** The rule's name. */
  readonly rule: string;
  /** The controller it applies to; without one it is a rule of the module. */
  readonly controller?: Type | undefined;
  /** The handler it applies to; without one it is a rule of the controller as a whole. */
  readonly handler?: string | undefined;
  /**
   * The caller's values, one for each placeholder of the key in its order, or what the key function would answer.
   * Left out for a key without placeholders.
   */
  readonly key?: KeyValue | readonly KeyValue[];
  /** Instead of `key`: the address of a visit that lacked its key and was counted by its address. */
  readonly address?: string | undefined;
  /** Needed where the rule's window is a function. */
  readonly window?: Window | undefined;
  /** Needed by `consume` and `peek` where the rule's limit is a function. */
  readonly limit?: number | undefined;
  /** @default the rule's cost, or 1 where it is a function */
  readonly cost?: number | undefined;
  readonly name?: never;
  readonly countDenied?: never;
  readonly onStoreError?: never;
}

export type FreqLimitCheck = CounterCheck | RuleCheck;

const COUNTER_PROPERTIES = ['key', 'window', 'limit', 'cost', 'name', 'countDenied', 'onStoreError'];
const RULE_PROPERTIES = ['rule', 'controller', 'handler', 'key', 'address', 'window', 'limit', 'cost'];
const NAME = matching(/^[ !#-[\]-~]{1,64}$/, '1 to 64 printable ASCII characters without " and \\');
const A_CLASS: Validator<Type> = {
  test: (value): value is Type => typeof value === 'function',
  expected: 'a class',
};
const A_TEXT = matching(/./s, 'a text');
const MAX_CHECKS = 1_000;
/** Names remembered. They stand in the application's code; one that makes them up must not fill the memory. */
const MAX_IDS = 1_000;
/** How many answers are given before the event loop may turn: they take some milliseconds. */
const ANSWERS_A_TURN = 2_000;
// kept here, because a test may replace timers later
const nextTurn = setImmediate;

/**
 * Limits and counts outside of the request path: in providers, queue workers, cron jobs, gateways.
 * All checks of one call go to the store together and are charged together, or not at all.
 */
@Injectable()
export class FreqLimitService {
  private readonly ids = new Map<string | undefined, string>();
  private answers = 0;

  constructor(
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(FREQ_LIMIT_EVENTS) private readonly reporter: VerdictEvents,
  ) {}

  /**
   * Asks whether a visit may pass, and charges it if it may. A denial is an answer, not an exception.
   * @param checks at most 1000 in one call
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` when a check is wrong; nothing is charged
   * @throws {FreqLimitError} `FREQ_LIMIT_STORE_FAILED` when the store gives no answer and a check's `onStoreError` is `'deny'`
   */
  async consume(checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<Verdict> {
    const resolved = this.resolve(checks, 'consume', false);
    if (resolved.length === 0) return UNLIMITED;
    const verdict = toVerdict(await this.yielding(this.store.consume(resolved)));
    this.reporter.report(verdict, undefined);
    return verdict;
  }

  /**
   * What `consume` would answer now, each check on its own, without charging any.
   * @throws as `consume` does
   */
  async peek(checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<Verdict> {
    const resolved = this.resolve(checks, 'peek', false);
    return resolved.length === 0 ? UNLIMITED : toVerdict(await this.yielding(this.store.peek(resolved)));
  }

  /**
   * Forgets what these counters have counted: the next visit opens a fresh window. A counter that was never charged
   * is no error; a rule that does not exist is one.
   * @throws as `consume` does, but whatever `onStoreError` says when the store gives no answer
   */
  async reset(checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<void> {
    const resolved = this.resolve(checks, 'reset', true);
    if (resolved.length > 0) await this.store.reset(resolved);
  }

  /** How the store is doing, as far as the visits so far tell; asks nothing. */
  health(): StoreHealth {
    return this.store.health();
  }

  /**
   * Lets the event loop turn now and then. Answers from memory need no turn, so a loop that calls again and again until it
   * is allowed would block the process.
   */
  private yielding(answer: MaybePromise<CheckResult[]>): MaybePromise<CheckResult[]> {
    if (++this.answers < ANSWERS_A_TURN) return answer;
    this.answers = 0;
    return nextTurn().then(() => answer);
  }

  private resolve(
    checks: FreqLimitCheck | readonly FreqLimitCheck[],
    method: string,
    anyLimit: boolean,
  ): Check[] {
    const list = Array.isArray(checks) ? (checks as readonly FreqLimitCheck[]) : [checks as FreqLimitCheck];
    if (list.length > MAX_CHECKS) {
      throw invalidCheck(
        `${method}: ${list.length} checks in one call; at most ${MAX_CHECKS} are decided together`,
      );
    }
    // a list with holes has no check there, and must say so
    return Array.from(list, (check, i) => {
      const reader = new OptionReader(
        Array.isArray(checks) ? `${method}: checks[${i}]` : `${method}: check`,
        invalidCheck,
      );
      const isOfRule = 'rule' in Object(check);
      reader.object(check, isOfRule ? RULE_PROPERTIES : COUNTER_PROPERTIES);
      return isOfRule
        ? this.ofRule(check as RuleCheck, reader, anyLimit)
        : this.ofCounter(check as CounterCheck, reader);
    });
  }

  private ofCounter(check: CounterCheck, reader: OptionReader): Check {
    const name = reader.optional('name', check.name, NAME);
    const windowMs = reader.parsed('window', () => toWindowMs(check.window));
    const text = textOfAll(listOf(check.key));
    if (text === undefined) throw reader.invalid('key', `${formatForLog(check.key)} is no value to count by`);
    const group = keyPrefix(this.options.namespace, this.idOf(name), windowMs);
    return {
      key: group + this.options.hashKey(text),
      group,
      name: name ?? 'check',
      windowMs,
      limit: reader.optional('limit', check.limit, COUNT) ?? Infinity,
      cost: reader.optional('cost', check.cost, COUNT) ?? 1,
      countDenied: reader.optional('countDenied', check.countDenied, BOOLEAN) ?? this.options.countDenied,
      onStoreError:
        reader.optional('onStoreError', check.onStoreError, ON_STORE_ERROR) ?? this.options.onStoreError,
    };
  }

  /** The id of a name's counters. It takes a hash, and callers ask by the same few names again and again. */
  private idOf(name: string | undefined): string {
    let id = this.ids.get(name);
    if (id === undefined) {
      id = ruleId(name === undefined ? 'service' : `service.${name}`, ['service', name]);
      if (this.ids.size >= MAX_IDS) this.ids.clear();
      this.ids.set(name, id);
    }
    return id;
  }

  private ofRule(check: RuleCheck, reader: OptionReader, anyLimit: boolean): Check {
    const rule = this.findRule(check, reader);
    const windowMs = this.windowOf(check, rule, reader);
    const limit =
      reader.optional('limit', check.limit, COUNT) ??
      (typeof rule.limit === 'number' ? rule.limit : undefined);
    if (limit === undefined && !anyLimit)
      throw reader.invalid('limit', `the limit of ${formatForLog(rule.name)} is a function: say which limit`);
    const cost =
      reader.optional('cost', check.cost, COUNT) ?? (typeof rule.cost === 'number' ? rule.cost : 1);
    const group = rule.keyPrefixFor(windowMs);
    return {
      key: group + rule.hashKey(this.textOfRule(check, rule, reader)),
      group,
      name: rule.name,
      windowMs,
      limit: limit ?? Infinity,
      cost,
      countDenied: rule.countDenied,
      onStoreError: rule.onStoreError,
    };
  }

  private findRule({ rule, controller, handler }: RuleCheck, reader: OptionReader): PlannedRule {
    reader.optional('controller', controller, A_CLASS);
    reader.optional('handler', handler, A_TEXT);
    const place = [controller?.name, handler].filter((part) => part !== undefined).join('.') || 'the module';
    if (controller === undefined && handler !== undefined) {
      throw reader.invalid('controller', `is missing: whose handler is ${formatForLog(handler)}?`);
    }
    const rules = reader.parsed('controller', () => this.plans.named(controller, handler));
    const found = rules.find((one) => one.name === rule);
    if (found === undefined) {
      const known = rules.map((one) => one.name).join(', ') || 'none';
      throw reader.invalid(
        'rule',
        `${place} has no rule called ${formatForLog(rule)}; its rules are ${known}`,
      );
    }
    if (found.scope === 'handler' && handler === undefined) {
      throw reader.invalid(
        'handler',
        `is missing: the rule ${formatForLog(rule)} counts each handler on its own`,
      );
    }
    if (found.scope === 'controller' && controller === undefined) {
      throw reader.invalid(
        'controller',
        `is missing: the rule ${formatForLog(rule)} counts each controller on its own`,
      );
    }
    return found;
  }

  private windowOf(check: RuleCheck, rule: PlannedRule, reader: OptionReader): number {
    if (typeof rule.window === 'number') {
      if (check.window !== undefined)
        throw reader.invalid('window', `the rule ${formatForLog(rule.name)} has its own window`);
      return rule.window;
    }
    return reader.parsed('window', () => toWindowMs(check.window));
  }

  private textOfRule({ key, address }: RuleCheck, rule: PlannedRule, reader: OptionReader): string {
    const { ipv6Subnet } = this.options;
    const canonical = (text: string): string => canonicalAddress(text, ipv6Subnet);
    if (address !== undefined) {
      if (key !== undefined) throw reader.invalid('address', 'is given instead of a key, not beside it');
      return textByAddress(canonical(reader.required('address', address, A_TEXT)));
    }
    const values = key === undefined ? [] : listOf(key);
    const text = textFromValues(rule, values, canonical, reader);
    if (text === undefined) throw reader.invalid('key', `${formatForLog(key)} holds no value to count by`);
    return text;
  }
}

/** A function of the rule that fails is no fault of the caller's values. */
function textFromValues(
  rule: PlannedRule,
  values: readonly KeyValue[],
  canonical: (address: string) => string,
  reader: OptionReader,
): string | undefined {
  try {
    return rule.key.textFromValues(values, canonical);
  } catch (error) {
    if (error instanceof NormalizeError) throw normalizeFailed(rule, error);
    throw reader.invalid('key', (error as Error).message, error);
  }
}

function listOf(key: KeyValue | readonly KeyValue[]): readonly KeyValue[] {
  return Array.isArray(key) ? (key as readonly KeyValue[]) : [key as KeyValue];
}
