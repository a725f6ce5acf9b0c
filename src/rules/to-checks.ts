import type { ExecutionContext } from '@nestjs/common';
import type { Check } from '../core/check.js';
import { FreqLimitError, formatForLog, formatError } from '../core/errors.js';
import { COUNT } from '../core/validate.js';
import { all, attempt, isPromise, type MaybePromise, andThen } from '../core/maybe-promise.js';
import { BY_ADDRESS, encodePart, NO_ADDRESS } from '../core/counter-key.js';
import type { LimitedRequest } from '../core/request.js';
import { toWindowMs } from './window.js';
import { NormalizeError } from './key/normalize.js';
import type { Plan } from './plan.js';
import type { PlannedRule } from './planned-rule.js';
import type { FromContext } from './rule.js';
import { TooLongError } from './key/spellings.js';

/** A visit that lacks what a rule's key names, where the rule wants such visits refused. */
export interface MissingKey {
  readonly missingKey: PlannedRule;
  /** The value is not missing but too long. */
  readonly isTooLong?: true;
}

/** A check of a visit, and the rule it comes from. */
export interface PlannedCheck extends Check {
  readonly rule: PlannedRule;
  /** The rule's limit, also where the store is not told it. */
  readonly ownLimit: number;
}

/** A function of a rule or of the module threw, or returned an invalid value. */
export class RuleError extends FreqLimitError {
  constructor(
    /** The place and name of the rule, as in messages. */
    readonly rule: string,
    problem: string,
    cause: unknown,
  ) {
    super('FREQ_LIMIT_RULE_FAILED', `${rule}: ${problem}`, { cause });
  }
}

type Resolved = PlannedCheck | undefined | MissingKey;

/**
 * Resolves a handler's rules for one visit: the checks to ask the store, or the rule whose key is missing.
 * Rules and their functions run in parallel, each function once.
 * @param onShadowFailed is told what keeps a shadow rule from being asked
 * @throws {FreqLimitError} `FREQ_LIMIT_RULE_FAILED` (or rejects with it) when a function throws or answers nonsense
 */
export function resolve(
  plan: Plan,
  request: LimitedRequest,
  context: ExecutionContext,
  onShadowFailed: (error: unknown) => void,
): MaybePromise<PlannedCheck[] | MissingKey> {
  if (plan.isStatic) return collect(plan.rules.map((rule) => plainCheck(rule, request, context)));
  return all<Resolved[], PlannedCheck[] | MissingKey>(
    plan.rules.map((rule) => {
      const resolved = attempt(() => resolveRule(rule, request, context));
      return rule.shadow ? leftOutIfFailed(resolved, onShadowFailed) : resolved;
    }),
    collect,
  );
}

/** A rule without functions: there is nothing to wait for. */
function plainCheck(rule: PlannedRule, request: LimitedRequest, context: ExecutionContext): Resolved {
  let key: string | undefined;
  try {
    key = rule.key.read(request, context) as string | undefined;
  } catch (error) {
    return leftOutIfShadow(tooLong(rule, error));
  }
  const text = key ?? textWithoutKey(rule, request);
  return typeof text === 'string'
    ? toCheck(rule, text, rule.window as number, rule.limit as number, rule.cost as number)
    : text;
}

function collect(resolved: readonly Resolved[]): PlannedCheck[] | MissingKey {
  const checks: PlannedCheck[] = [];
  for (const one of resolved) {
    if (one === undefined) continue;
    if ('missingKey' in one) return one;
    checks.push(one);
  }
  return checks;
}

/** A rule that only reports refuses nobody when it fails either: it is left out. */
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
  if (error instanceof TooLongError) return { missingKey: rule, isTooLong: true };
  throw error;
}

function leftOutIfShadow(missing: MissingKey): MissingKey | undefined {
  return missing.missingKey.shadow ? undefined : missing;
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
      valueOf(rule, 'window', rule.window, context),
      valueOf(rule, 'limit', rule.limit, context),
      valueOf(rule, 'cost', rule.cost, context),
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

type Values = readonly [key: string | undefined | MissingKey, window: unknown, limit: unknown, cost: unknown];

function toCheckOrMissing(
  rule: PlannedRule,
  request: LimitedRequest,
  [key, window, limit, cost]: Values,
): Resolved {
  if (typeof key === 'object') return leftOutIfShadow(key);
  const text = key ?? textWithoutKey(rule, request);
  if (typeof text !== 'string') return text;
  const windowMs = typeof rule.window === 'number' ? rule.window : windowOf(rule, window);
  return toCheck(rule, text, windowMs, countOf(rule, 'limit', limit), countOf(rule, 'cost', cost));
}

function toCheck(
  rule: PlannedRule,
  text: string,
  windowMs: number,
  ownLimit: number,
  cost: number,
): PlannedCheck {
  const { name, countDenied, shadow } = rule;
  const group = rule.keyPrefixFor(windowMs);
  // a shadow rule is asked without a limit, and stands in nobody's way when the store cannot answer
  const limit = shadow ? Infinity : ownLimit;
  const onStoreError = shadow && rule.onStoreError === 'deny' ? 'allow' : rule.onStoreError;
  const key = group + rule.hashKey(text);
  return { key, group, name, windowMs, limit, cost, countDenied, onStoreError, rule, ownLimit };
}

function textWithoutKey(rule: PlannedRule, request: LimitedRequest): string | MissingKey | undefined {
  switch (rule.onMissingKey) {
    case 'skip':
      return undefined;
    case 'deny':
      return rule.shadow ? undefined : { missingKey: rule };
    case 'ip': {
      const { address, isClientFacing } = request;
      // the module's rules are meant for clients: all messages of a broker together are none
      if (address === undefined && !isClientFacing && rule.level === 'app') return undefined;
      return textByAddress(address);
    }
  }
}

/** The key's text of a visit that is counted by its address for want of a key. */
export function textByAddress(address: string | undefined): string {
  return address === undefined ? NO_ADDRESS : BY_ADDRESS + encodePart(address);
}

/** The constant itself, or what the function answers. */
function valueOf(
  rule: PlannedRule,
  property: string,
  value: number | FromContext<unknown>,
  context: ExecutionContext,
): unknown {
  return typeof value === 'number' ? value : evaluate(rule, property, value, context);
}

/**
 * Calls a function of a rule or of the module. What it throws becomes a rejection that names the place.
 * @throws {FreqLimitError} `FREQ_LIMIT_RULE_FAILED`, always as a rejection
 */
export function evaluate<T>(
  owner: FunctionOwner,
  property: string,
  ask: FromContext<T>,
  context: ExecutionContext,
): MaybePromise<T> {
  const answer = attempt(() => ask(context));
  if (!isPromise(answer)) return answer;
  return Promise.resolve(answer).then(undefined, (error: unknown) => {
    if (error instanceof TooLongError) throw error;
    if (error instanceof NormalizeError) throw normalizeFailed(owner, error);
    throw failed(owner, `the ${property} function failed: ${formatError(error)}`, error);
  });
}

/** What a function of `normalize` does wrong is not the fault of the key that it spells. */
export function normalizeFailed(owner: FunctionOwner, error: NormalizeError): FreqLimitError {
  return failed(owner, `the normalize function failed: ${error.message}`, error.cause ?? error);
}

function windowOf(rule: PlannedRule, window: unknown): number {
  try {
    return toWindowMs(window);
  } catch (error) {
    throw failed(rule, `the window function answered: ${(error as Error).message}`, error);
  }
}

function countOf(rule: PlannedRule, property: 'limit' | 'cost', value: unknown): number {
  if (COUNT.test(value)) return value;
  throw failed(
    rule,
    `the ${property} function answered ${formatForLog(value)}, which is not ${COUNT.expected}`,
  );
}

/** Whose function it is. */
interface FunctionOwner {
  readonly place: string;
  /** The rule's name; the module's own functions have none. */
  readonly name?: string;
}

function failed({ place, name }: FunctionOwner, problem: string, cause?: unknown): FreqLimitError {
  return new RuleError(name === undefined ? place : `${place}, rule "${name}"`, problem, cause);
}
