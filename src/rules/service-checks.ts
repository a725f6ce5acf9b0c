import { canonicalAddress } from '../contexts/client-address.js';
import type { OnStoreError } from '../core/check.js';
import { type FreqLimitError, formatForLog, invalidCheck } from '../core/errors.js';
import type { KeyHasher } from '../core/key-hash.js';
import { newLeaseId } from '../core/leases.js';
import { BOOLEAN, COUNT, NOT_EMPTY, OptionReader } from '../core/validate.js';
import { impossibleWithConcurrency } from './concurrency.js';
import { textOf, textOfAll } from './key/key-text.js';
import type { KeyValue } from './key/key-types.js';
import { type ShareCheck, withinShare } from './max-share.js';
import type { PlannedRule } from './planned-rule.js';
import type { Algorithm } from './rule.js';
import { unitsOfBucket } from './rule-kind.js';
import type { ConcurrencyCheck, CounterCheck, HoldCheck, RuleCheck } from './service-check-types.js';
import { ServiceCounters } from './service-counters.js';
import { ServiceKinds } from './service-kinds.js';
import { CHECK_HINTS, notACheck, RULE_CHECK_HINTS, type ServiceMethod } from './service-mistakes.js';
import { burstOf, costOf, limitOf, spanOfCheck, textFromValues } from './service-rule-values.js';
import { findRule, type RulesOf } from './service-rules.js';
import { ON_STORE_ERROR } from './validators.js';
import { textByAddress } from './without-key.js';

type Reader = OptionReader<FreqLimitError>;

/** What checks need from the options of the module. */
interface CheckOptions {
  readonly namespace: string;
  readonly hashKey: KeyHasher;
  readonly countDenied: boolean;
  readonly onStoreError: OnStoreError;
  readonly algorithm: Algorithm;
  readonly ipv6Subnet: number;
}

const COUNTER_PROPERTIES = [
  'key',
  'window',
  'limit',
  'concurrency',
  'cost',
  'algorithm',
  'burst',
  'blockFor',
  'forgiveAfter',
  'name',
  'countDenied',
  'onStoreError',
];
const RULE_PROPERTIES = [
  'rule',
  'controller',
  'handler',
  'key',
  'address',
  'window',
  'timeZone',
  'limit',
  'cost',
  'burst',
  'concurrency',
];
const CONCURRENCY_PROPERTIES = ['key', 'concurrency', 'name', 'onStoreError'];
const KNOWN_TO_COUNTERS = new Set(COUNTER_PROPERTIES);
const KNOWN_TO_RULES = new Set(RULE_PROPERTIES);
const MAX_CHECKS = 1_000;
const ONLY_HELD =
  'is only possible in hold, because a slot must be released; write hold(checks, async () => …)';

/** Turns the checks that callers of `FreqLimitService` pass into checks for the store. */
export class ServiceChecks {
  private readonly counters: ServiceCounters;
  private readonly kinds: ServiceKinds;

  /** @param onNewName called with the window of the first check with a name */
  constructor(
    private readonly options: CheckOptions,
    private readonly rulesOf: RulesOf,
    onNewName: (window: unknown) => void = () => undefined,
  ) {
    this.counters = new ServiceCounters(options.namespace, options.algorithm, onNewName);
    this.kinds = new ServiceKinds(options.algorithm);
  }

  /**
   * @param method the method of the service, for messages; `reset` needs no limit
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` naming the check, the property and the right form
   */
  resolve(checks: HoldCheck | readonly HoldCheck[], method: ServiceMethod): ShareCheck[] {
    const list = Array.isArray(checks) ? (checks as readonly unknown[]) : [checks];
    if (list.length > MAX_CHECKS) {
      throw invalidCheck(`${method}: ${list.length} checks in one call; at most ${MAX_CHECKS} are possible`);
    }
    let i = 0;
    // one for all checks of a call, and the place is put together only for an error
    const place = (): string => `${method}: ${list === checks ? `checks[${i}]` : 'check'}`;
    const reader = new OptionReader(place, invalidCheck);
    const resolved = new Array<ShareCheck>(list.length);
    // unlike map, this also reads the holes of a list, which are wrong checks
    for (; i < list.length; i++) {
      const check = list[i];
      if (typeof check !== 'object' || check === null || Array.isArray(check))
        throw notACheck(check, method, place());
      resolved[i] = this.resolveOne(check, reader, method);
    }
    return resolved;
  }

  private resolveOne(check: object, reader: Reader, method: ServiceMethod): ShareCheck {
    const needsLimit = method !== 'reset';
    if ('rule' in check) {
      if (!hasOnly(KNOWN_TO_RULES, check)) reader.object(check, RULE_PROPERTIES, RULE_CHECK_HINTS);
      return this.ofRule(check as RuleCheck, reader, method);
    }
    if (!hasOnly(KNOWN_TO_COUNTERS, check)) reader.object(check, COUNTER_PROPERTIES, CHECK_HINTS);
    if ((check as ConcurrencyCheck | CounterCheck).concurrency !== undefined)
      return this.ofConcurrency(check as ConcurrencyCheck, reader, method);
    return this.ofCounter(check as CounterCheck, reader, needsLimit);
  }

  private ofCounter(check: CounterCheck, reader: Reader, needsLimit: boolean): ShareCheck {
    const { group, windowMs, kind } = this.counters.of(check, reader, needsLimit);
    const hashed = this.hashedKey(check.key, reader);
    const limit = reader.optional('limit', check.limit, COUNT) ?? Infinity;
    const cost = reader.optional('cost', check.cost, COUNT) ?? 1;
    return {
      key: group + hashed,
      group,
      text: hashed,
      name: check.name ?? 'check',
      windowMs,
      kind,
      limit,
      cost,
      lease: undefined,
      block: this.kinds.blockOf(check, reader),
      countDenied: reader.optional('countDenied', check.countDenied, BOOLEAN) ?? this.options.countDenied,
      shadow: false,
      onStoreError:
        reader.optional('onStoreError', check.onStoreError, ON_STORE_ERROR) ?? this.options.onStoreError,
      aboveShare: undefined,
    };
  }

  private ofConcurrency(check: ConcurrencyCheck, reader: Reader, method: ServiceMethod): ShareCheck {
    rejectOptions(check, reader);
    if (method === 'consume') throw reader.invalid('concurrency', ONLY_HELD);
    const { group, windowMs, kind } = this.counters.ofConcurrency(check.name, reader);
    const limit = reader.required('concurrency', check.concurrency, COUNT);
    const hashed = this.hashedKey(check.key, reader);
    return {
      key: group + hashed,
      group,
      text: hashed,
      name: check.name ?? 'check',
      windowMs,
      kind,
      limit,
      cost: 1,
      lease: newLeaseId(),
      aboveShare: undefined,
      block: undefined,
      countDenied: false,
      shadow: false,
      onStoreError:
        reader.optional('onStoreError', check.onStoreError, ON_STORE_ERROR) ?? this.options.onStoreError,
    };
  }

  private hashedKey(key: CounterCheck['key'], reader: Reader): string {
    const text = isList(key) ? textOfAll(key) : textOf(key);
    if (text === undefined) throw missingKey(key, reader);
    return this.options.hashKey(text);
  }

  private ofRule(check: RuleCheck, reader: Reader, method: ServiceMethod): ShareCheck {
    const needsLimit = method !== 'reset';
    const rule = findRule(check, this.rulesOf, reader);
    const hasSlots = rule.kindName === 'concurrency';
    if (hasSlots && method === 'consume')
      throw reader.invalid('rule', `the rule ${formatForLog(rule.name)} has concurrency, which ${ONLY_HELD}`);
    const span = spanOfCheck(check, rule, reader);
    const limit = limitOf(check, rule, reader, needsLimit) ?? Infinity;
    const burst = burstOf(check, rule, reader, needsLimit);
    const cost = costOf(check, rule, reader);
    const { group, windowMs, kind } = rule.counterFor(span, unitsOfBucket(limit, burst));
    const text = rule.hashKey(this.textOf(check, rule, reader));
    const resolved = {
      key: group + text,
      group,
      text,
      name: rule.name,
      windowMs,
      kind,
      limit,
      cost,
      lease: hasSlots ? newLeaseId() : undefined,
      block: rule.block,
      countDenied: rule.countDenied,
      shadow: false,
      onStoreError: rule.onStoreError,
      aboveShare: undefined,
    };
    return withinShare(resolved, rule.maxShare);
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

/** A check with `concurrency` has few options. */
function rejectOptions(check: ConcurrencyCheck, reader: Reader): void {
  for (const option of COUNTER_PROPERTIES) {
    const isGiven = (check as unknown as Readonly<Record<string, unknown>>)[option] !== undefined;
    if (isGiven && !CONCURRENCY_PROPERTIES.includes(option))
      throw reader.invalid(option, impossibleWithConcurrency(option, 'check'));
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
