import type { ExecutionContext } from '@nestjs/common';
import { newLeaseId } from '../core/leases.js';
import { all, andThen, attempt, isPromise, type MaybePromise } from '../core/maybe-promise.js';
import type { LimitedRequest } from '../core/request.js';
import { constantOrResult, evaluate, validCount, validSpan } from './evaluate.js';
import type { CompiledKey } from './key/key-types.js';
import { TooLongError } from './key/spellings.js';
import { type ShareCheck, withinShare } from './max-share.js';
import type { Plan } from './plan.js';
import type { CounterType, PlannedRule } from './planned-rule.js';
import { unitsOfBucket } from './rule-kind.js';
import { type MissingKey, textWithoutKey } from './without-key.js';

export type { MissingKey } from './without-key.js';

/** A check of a request, with its rule. */
export interface PlannedCheck extends ShareCheck {
  readonly rule: PlannedRule;
}

type Resolved = PlannedCheck | undefined | MissingKey;

/**
 * Resolves a handler's rules for one request. Rules and their functions run in parallel, each function once.
 * @param onShadowFailed called with the error if a shadow rule fails, which is then left out
 * @returns the checks for the store, or the first rule whose key is missing
 * @throws {FreqLimitError} `FREQ_LIMIT_RULE_FAILED` (or rejects with it) if a function fails or returns an invalid value
 */
export function toChecks(
  plan: Plan,
  request: LimitedRequest,
  context: ExecutionContext,
  onShadowFailed: (error: unknown) => void,
): MaybePromise<PlannedCheck[] | MissingKey> {
  if (plan.isStatic) return toStaticChecks(plan.rules, request, context);
  return all<Resolved[], PlannedCheck[] | MissingKey>(
    plan.rules.map((rule) => {
      const resolved = attempt(() => resolveRule(rule, request, context));
      return rule.shadow ? leftOutIfFailed(resolved, onShadowFailed) : resolved;
    }),
    collect,
  );
}

/** Resolves rules without functions, synchronously. */
function toStaticChecks(
  rules: readonly PlannedRule[],
  request: LimitedRequest,
  context: ExecutionContext,
): PlannedCheck[] | MissingKey {
  let key: CompiledKey | undefined;
  let text: string | undefined;
  const resolved = rules.map((rule) => {
    try {
      // several rules often count by the same key, in different windows
      if (rule.key !== key) text = rule.key.read(request, context) as string | undefined;
    } catch (error) {
      return leftOutIfShadow(tooLong(rule, error));
    }
    key = rule.key;
    return toStaticCheck(rule, text, request);
  });
  // mostly all rules apply, and nothing is left to collect
  return resolved.every(isCheck) ? resolved : collect(resolved);
}

function isCheck(resolved: Resolved): resolved is PlannedCheck {
  return resolved !== undefined && 'key' in resolved;
}

function toStaticCheck(rule: PlannedRule, key: string | undefined, request: LimitedRequest): Resolved {
  rule.valueWatch?.see(rule, key !== undefined, request);
  const text = key ?? textWithoutKey(rule, request);
  if (typeof text !== 'string') return text;
  const limit = rule.limit as number;
  const units = unitsOfBucket(limit, rule.burst as number | undefined);
  const counter = rule.counterFor(rule.span as number | string, units);
  return toCheck(rule, text, counter, limit, rule.cost as number);
}

function collect(resolved: readonly Resolved[]): PlannedCheck[] | MissingKey {
  const checks: PlannedCheck[] = [];
  for (const one of resolved) {
    if (one === undefined) continue;
    if (!isCheck(one)) return one;
    checks.push(one);
  }
  return checks;
}

/** A shadow rule never denies a request, also not by an error. */
function leftOutIfFailed(
  resolved: MaybePromise<Resolved>,
  onFailed: (error: unknown) => void,
): MaybePromise<Resolved> {
  if (!isPromise(resolved)) return resolved;
  return resolved.then(undefined, (error: unknown) => {
    onFailed(error);
    return undefined;
  });
}

/** @throws every error except {@link TooLongError} */
function tooLong(rule: PlannedRule, error: unknown): MissingKey {
  if (error instanceof TooLongError) return { rule, isTooLong: true };
  throw error;
}

function leftOutIfShadow(missing: MissingKey): MissingKey | undefined {
  return missing.rule.shadow ? undefined : missing;
}

function resolveRule(
  rule: PlannedRule,
  request: LimitedRequest,
  context: ExecutionContext,
): MaybePromise<Resolved> {
  if (rule.skipIf === undefined) return checkOf(rule, request, context);
  return andThen(evaluate(rule, 'skipIf', rule.skipIf, context), (skip) =>
    skip === true ? undefined : checkOf(rule, request, context),
  );
}

function checkOf(
  rule: PlannedRule,
  request: LimitedRequest,
  context: ExecutionContext,
): MaybePromise<Resolved> {
  return all<Values, Resolved>(
    [
      keyOf(rule, request, context),
      constantOrResult(rule, typeof rule.window === 'object' ? 'timeZone' : 'window', rule.span, context),
      constantOrResult(rule, limitOption(rule), rule.limit, context),
      constantOrResult(rule, 'cost', rule.cost, context),
      rule.burst === undefined ? undefined : constantOrResult(rule, 'burst', rule.burst, context),
    ],
    (values) => toCheckOrMissing(rule, request, values),
  );
}

function keyOf(
  rule: PlannedRule,
  request: LimitedRequest,
  context: ExecutionContext,
): MaybePromise<string | undefined | MissingKey> {
  const key = evaluate(rule, 'key', () => rule.key.read(request, context), context);
  if (!isPromise(key)) return key;
  return key.then(undefined, (error: unknown) => tooLong(rule, error));
}

type Values = readonly [
  key: string | undefined | MissingKey,
  span: unknown,
  limit: unknown,
  cost: unknown,
  burst: unknown,
];

function toCheckOrMissing(
  rule: PlannedRule,
  request: LimitedRequest,
  [key, span, limit, cost, burst]: Values,
): Resolved {
  if (typeof key === 'object') return leftOutIfShadow(key);
  rule.valueWatch?.see(rule, key !== undefined, request);
  const text = key ?? textWithoutKey(rule, request);
  if (typeof text !== 'string') return text;
  const own = validCount(rule, limitOption(rule), limit);
  const units = unitsOfBucket(own, burst === undefined ? undefined : validCount(rule, 'burst', burst));
  const counter = rule.counterFor(validSpan(rule, span), units);
  return toCheck(rule, text, counter, own, validCount(rule, 'cost', cost));
}

/** The option that a rule's limit comes from. */
function limitOption({ kindName }: PlannedRule): 'limit' | 'concurrency' {
  return kindName === 'concurrency' ? 'concurrency' : 'limit';
}

function toCheck(
  rule: PlannedRule,
  text: string,
  { group, windowMs, kind }: CounterType,
  limit: number,
  cost: number,
): PlannedCheck {
  const { name, countDenied, shadow } = rule;
  // a shadow rule never denies, also if the store fails
  const onStoreError = shadow && rule.onStoreError === 'deny' ? 'allow' : rule.onStoreError;
  const hashed = rule.hashKey(text);
  const check: PlannedCheck = {
    key: group + hashed,
    group,
    text: hashed,
    name,
    windowMs,
    kind,
    limit,
    cost,
    lease: kind.type === 'concurrency' ? newLeaseId() : undefined,
    block: rule.block,
    countDenied,
    shadow,
    onStoreError,
    rule,
    aboveShare: undefined,
  };
  return withinShare(check, rule.maxShare);
}
