import { Inject, Injectable, type Type } from '@nestjs/common';
import type { Check } from './core/check.js';
import { FreqLimitTypeError, show } from './core/errors.js';
import { BOOLEAN, COUNT, matching, Properties } from './core/forms.js';
import { keyHead, ruleId } from './core/store-key.js';
import { toVerdict, UNLIMITED, type Verdict } from './core/verdict.js';
import { FREQ_LIMIT_PLANS, FREQ_LIMIT_RESOLVED_OPTIONS, FREQ_LIMIT_STORE } from './freq-limit.tokens.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import type { FreqLimitPlans } from './freq-limit.plans.js';
import { canonicalAddress } from './http/client-address.js';
import { toWindowMs } from './rules/duration.js';
import { textOfAll } from './rules/key.js';
import type { PlannedRule } from './rules/planned-rule.js';
import { textByAddress } from './rules/resolve.js';
import type { KeyValue, Window } from './rules/rule.js';
import type { Store } from './store/store.js';

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
}

export type FreqLimitCheck = CounterCheck | RuleCheck;

const COUNTER_PROPERTIES = ['key', 'window', 'limit', 'cost', 'name', 'countDenied'];
const RULE_PROPERTIES = ['rule', 'controller', 'handler', 'key', 'address', 'window', 'limit', 'cost'];
const NAME = matching(/^[ !#-[\]-~]{1,64}$/, '1 to 64 printable ASCII characters without " and \\');
const MOST_CHECKS = 1_000;

/**
 * Limits and counts outside of the request path: in providers, queue workers, cron jobs, gateways.
 * All checks of one call go to the store together and are charged together, or not at all.
 */
@Injectable()
export class FreqLimitService {
  constructor(
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Asks whether a visit may pass, and charges it if it may. A denial is an answer, not an exception.
   * @param checks at most 1000 in one call
   * @throws {FreqLimitTypeError} when a check is malformed; nothing is charged
   * @throws {FreqLimitError} `FREQ_LIMIT_STORE_FAILED` when the store gives no answer
   */
  async consume(checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<Verdict> {
    const resolved = this.resolve(checks, 'consume', false);
    return resolved.length === 0 ? UNLIMITED : toVerdict(await this.store.consume(resolved));
  }

  /**
   * What `consume` would answer now, each check on its own, without charging any.
   * @throws as `consume` does
   */
  async peek(checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<Verdict> {
    const resolved = this.resolve(checks, 'peek', false);
    return resolved.length === 0 ? UNLIMITED : toVerdict(await this.store.peek(resolved));
  }

  /**
   * Forgets what these counters have counted: the next visit opens a fresh window. A counter that was never charged
   * is no error; a rule that does not exist is one.
   * @throws as `consume` does
   */
  async reset(checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<void> {
    await this.store.reset(this.resolve(checks, 'reset', true).map((check) => check.key));
  }

  private resolve(
    checks: FreqLimitCheck | readonly FreqLimitCheck[],
    method: string,
    anyLimit: boolean,
  ): Check[] {
    const list = Array.isArray(checks) ? (checks as readonly FreqLimitCheck[]) : [checks as FreqLimitCheck];
    if (list.length > MOST_CHECKS) {
      throw new FreqLimitTypeError(
        `${method}: ${list.length} checks in one call; at most ${MOST_CHECKS} are decided together`,
      );
    }
    return list.map((check, i) => {
      const read = new Properties(
        Array.isArray(checks) ? `${method}: checks[${i}]` : `${method}: check`,
        (message, cause) => new FreqLimitTypeError(message, { cause }),
      );
      const isOfRule = 'rule' in Object(check);
      read.object(check, isOfRule ? RULE_PROPERTIES : COUNTER_PROPERTIES);
      return isOfRule
        ? this.ofRule(check as RuleCheck, read, anyLimit)
        : this.ofCounter(check as CounterCheck, read);
    });
  }

  private ofCounter(check: CounterCheck, read: Properties): Check {
    const name = read.optional('name', check.name, NAME);
    const windowMs = read.parsed('window', () => toWindowMs(check.window));
    const text = textOfAll(listOf(check.key));
    if (text === undefined) throw read.invalid('key', `${show(check.key)} is no value to count by`);
    return {
      key:
        keyHead(
          this.options.namespace,
          ruleId(name === undefined ? 'service' : `service.${name}`, ['service', name]),
          windowMs,
        ) + text,
      name: name ?? 'check',
      windowMs,
      limit: read.optional('limit', check.limit, COUNT) ?? Infinity,
      cost: read.optional('cost', check.cost, COUNT) ?? 1,
      countDenied: read.optional('countDenied', check.countDenied, BOOLEAN) ?? this.options.countDenied,
    };
  }

  private ofRule(check: RuleCheck, read: Properties, anyLimit: boolean): Check {
    const rule = this.findRule(check, read);
    const windowMs = this.windowOf(check, rule, read);
    const limit =
      read.optional('limit', check.limit, COUNT) ?? (typeof rule.limit === 'number' ? rule.limit : undefined);
    if (limit === undefined && !anyLimit)
      throw read.invalid('limit', `the limit of ${show(rule.name)} is a function: say which limit`);
    const cost = read.optional('cost', check.cost, COUNT) ?? (typeof rule.cost === 'number' ? rule.cost : 1);
    return {
      key: rule.headOf(windowMs) + this.textOfRule(check, rule, read),
      name: rule.name,
      windowMs,
      limit: limit ?? Infinity,
      cost,
      countDenied: rule.countDenied,
    };
  }

  private findRule({ rule, controller, handler }: RuleCheck, read: Properties): PlannedRule {
    const place = [controller?.name, handler].filter((part) => part !== undefined).join('.') || 'the module';
    if (
      handler !== undefined &&
      (controller === undefined || !(handler in (controller.prototype as object)))
    ) {
      throw read.invalid(
        'handler',
        `${show(handler)} is no method of ${controller?.name ?? 'a controller, which is not given'}`,
      );
    }
    const rules = this.plans.named(controller, handler)?.rules ?? [];
    const found = rules.find((one) => one.name === rule);
    if (found !== undefined) return found;
    const known = rules.map((one) => one.name).join(', ') || 'none';
    throw read.invalid('rule', `${place} has no rule called ${show(rule)}; its rules are ${known}`);
  }

  private windowOf(check: RuleCheck, rule: PlannedRule, read: Properties): number {
    if (typeof rule.window === 'number') {
      if (check.window !== undefined)
        throw read.invalid('window', `the rule ${show(rule.name)} has its own window`);
      return rule.window;
    }
    return read.parsed('window', () => toWindowMs(check.window));
  }

  private textOfRule({ key, address }: RuleCheck, rule: PlannedRule, read: Properties): string {
    const { ipv6Subnet } = this.options;
    if (address !== undefined) {
      if (key !== undefined) throw read.invalid('address', 'is given instead of a key, not beside it');
      return textByAddress(canonicalAddress(address, ipv6Subnet));
    }
    const values = key === undefined ? [] : listOf(key);
    const canonical = values.map((value, i) =>
      rule.key.paths[i] === 'ip' && typeof value === 'string' ? canonicalAddress(value, ipv6Subnet) : value,
    );
    const text = read.parsed('key', () => rule.key.fill(canonical));
    if (text === undefined) throw read.invalid('key', `${show(key)} holds no value to count by`);
    return text;
  }
}

function listOf(key: KeyValue | readonly KeyValue[]): readonly KeyValue[] {
  return Array.isArray(key) ? (key as readonly KeyValue[]) : [key as KeyValue];
}
