import { canonicalAddress } from '../contexts/client-address.js';
import type { Check, OnStoreError } from '../core/check.js';
import { formatForLog, invalidCheck } from '../core/errors.js';
import type { KeyHasher } from '../core/key-hash.js';
import { BOOLEAN, COUNT, matching, NOT_EMPTY, OptionReader } from '../core/validate.js';
import { textOf, textOfAll } from './key/key-text.js';
import type { KeyValue } from './key/key-types.js';
import { NormalizeError } from './key/normalize.js';
import type { PlannedRule } from './planned-rule.js';
import type { CounterCheck, FreqLimitCheck, RuleCheck } from './service-check-types.js';
import {
  CHECK_HINTS,
  notACheck,
  RULE_CHECK_HINTS,
  type ServiceMethod,
  withoutWindow,
} from './service-mistakes.js';
import { ServiceGroups } from './service-groups.js';
import { findRule, type RulesOf } from './service-rules.js';
import { normalizeFailed } from './evaluate.js';
import { textByAddress } from './to-checks.js';
import { ON_STORE_ERROR } from './validators.js';
import { toWindowMs } from './window.js';

/** What checks need from the options of the module. */
interface CheckOptions {
  readonly namespace: string;
  readonly hashKey: KeyHasher;
  readonly countDenied: boolean;
  readonly onStoreError: OnStoreError;
  readonly ipv6Subnet: number;
}

const COUNTER_PROPERTIES = ['key', 'window', 'limit', 'cost', 'name', 'countDenied', 'onStoreError'];
const RULE_PROPERTIES = ['rule', 'controller', 'handler', 'key', 'address', 'window', 'limit', 'cost'];
const KNOWN_TO_COUNTERS = new Set(COUNTER_PROPERTIES);
const KNOWN_TO_RULES = new Set(RULE_PROPERTIES);
const NAME = matching(
  /^[ !#-[\]-~]{1,64}$/,
  'a string of 1 to 64 printable ASCII characters without " and \\',
);
const MAX_CHECKS = 1_000;

/** Turns the checks that callers of `FreqLimitService` pass into checks for the store. */
export class ServiceChecks {
  private readonly groups: ServiceGroups;

  /** @param onNewName called with the window of the first check with a name */
  constructor(
    private readonly options: CheckOptions,
    private readonly rulesOf: RulesOf,
    onNewName: (window: unknown) => void = () => undefined,
  ) {
    this.groups = new ServiceGroups(options.namespace, onNewName);
  }

  /**
   * @param method the method of the service, for messages; `reset` needs no limit
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` naming the check, the property and the right form
   */
  resolve(checks: FreqLimitCheck | readonly FreqLimitCheck[], method: ServiceMethod): Check[] {
    const list = Array.isArray(checks) ? (checks as readonly unknown[]) : [checks];
    if (list.length > MAX_CHECKS) {
      throw invalidCheck(`${method}: ${list.length} checks in one call; at most ${MAX_CHECKS} are possible`);
    }
    let i = 0;
    // one for all checks of a call, and the place is put together only for an error
    const place = (): string => `${method}: ${list === checks ? `checks[${i}]` : 'check'}`;
    const reader = new OptionReader(place, invalidCheck);
    const resolved = new Array<Check>(list.length);
    // unlike map, this also reads the holes of a list, which are wrong checks
    for (; i < list.length; i++) {
      const check = list[i];
      if (typeof check !== 'object' || check === null || Array.isArray(check))
        throw notACheck(check, method, place());
      resolved[i] = this.resolveOne(check, reader, method !== 'reset');
    }
    return resolved;
  }

  private resolveOne(check: object, reader: OptionReader, needsLimit: boolean): Check {
    if ('rule' in check) {
      if (!hasOnly(KNOWN_TO_RULES, check)) reader.object(check, RULE_PROPERTIES, RULE_CHECK_HINTS);
      return this.ofRule(check as RuleCheck, reader, needsLimit);
    }
    if (!hasOnly(KNOWN_TO_COUNTERS, check)) reader.object(check, COUNTER_PROPERTIES, CHECK_HINTS);
    return this.ofCounter(check as CounterCheck, reader);
  }

  private ofCounter(check: CounterCheck, reader: OptionReader): Check {
    const { name, window, key } = check;
    const known = this.groups.find(name, window);
    if (known === undefined) reader.optional('name', name, NAME);
    const windowMs = known === undefined ? readWindow(check, reader) : known.windowMs;
    const text = isList(key) ? textOfAll(key) : textOf(key);
    if (text === undefined) throw missingKey(key, reader);
    const { prefix } = known ?? this.groups.add(name, window, windowMs);
    const hashed = this.options.hashKey(text);
    return {
      key: prefix + hashed,
      group: prefix,
      text: hashed,
      name: name ?? 'check',
      windowMs,
      limit: reader.optional('limit', check.limit, COUNT) ?? Infinity,
      cost: reader.optional('cost', check.cost, COUNT) ?? 1,
      countDenied: reader.optional('countDenied', check.countDenied, BOOLEAN) ?? this.options.countDenied,
      onStoreError:
        reader.optional('onStoreError', check.onStoreError, ON_STORE_ERROR) ?? this.options.onStoreError,
    };
  }

  private ofRule(check: RuleCheck, reader: OptionReader, needsLimit: boolean): Check {
    const rule = findRule(check, this.rulesOf, reader);
    const windowMs = windowOf(check, rule, reader);
    const limit = limitOf(check, rule, reader);
    if (limit === undefined && needsLimit) {
      const problem = `is missing; the limit of the rule ${formatForLog(rule.name)} is a function, so pass a number`;
      throw reader.invalid('limit', problem);
    }
    const cost = reader.optional('cost', check.cost, COUNT);
    const group = rule.keyPrefixFor(windowMs);
    const text = rule.hashKey(this.textOf(check, rule, reader));
    return {
      key: group + text,
      group,
      text,
      name: rule.name,
      windowMs,
      limit: limit ?? Infinity,
      cost: cost ?? (typeof rule.cost === 'number' ? rule.cost : 1),
      countDenied: rule.countDenied,
      onStoreError: rule.onStoreError,
    };
  }

  private textOf({ key, address }: RuleCheck, rule: PlannedRule, reader: OptionReader): string {
    const canonical = (text: string): string => canonicalAddress(text, this.options.ipv6Subnet);
    if (address !== undefined) {
      if (key !== undefined) throw reader.invalid('address', 'pass either address or key, not both');
      return textByAddress(canonical(reader.required('address', address, NOT_EMPTY)));
    }
    const values = key === undefined ? [] : isList(key) ? key : [key];
    const text = textFromValues(rule, values, canonical, reader);
    if (text === undefined) throw missingKey(key, reader);
    return text;
  }
}

function windowOf(check: RuleCheck, rule: PlannedRule, reader: OptionReader): number {
  if (typeof rule.window !== 'number') return readWindow(check, reader);
  if (check.window === undefined) return rule.window;
  throw reader.invalid(
    'window',
    `the rule ${formatForLog(rule.name)} has its own window; remove this option`,
  );
}

function readWindow(check: FreqLimitCheck, reader: OptionReader): number {
  if (check.window === undefined) throw reader.invalid('window', withoutWindow(check));
  return reader.parsed('window', () => toWindowMs(check.window));
}

function limitOf(check: RuleCheck, rule: PlannedRule, reader: OptionReader): number | undefined {
  const given = reader.optional('limit', check.limit, COUNT);
  return given ?? (typeof rule.limit === 'number' ? rule.limit : undefined);
}

/** If a `normalize` function of the rule fails, the values are not to blame: that is another error. */
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

/** Whether an object has no other options than these. Allocates nothing, unlike a list of its options. */
function hasOnly(known: ReadonlySet<string>, check: object): boolean {
  for (const option in check) if (!known.has(option)) return false;
  return true;
}

function isList(key: KeyValue | readonly KeyValue[]): key is readonly KeyValue[] {
  return Array.isArray(key);
}

function missingKey(key: unknown, reader: OptionReader): Error {
  return reader.invalid(
    'key',
    `${formatForLog(key)} is not a value to count by; expected a string that is not empty, a number or a boolean`,
  );
}
