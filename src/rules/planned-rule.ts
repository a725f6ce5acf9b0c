import type { OnStoreError } from '../core/check.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import { FreqLimitError } from '../core/errors.js';
import {
  aFunction,
  BOOLEAN,
  COUNT,
  either,
  type Validator,
  matching,
  oneOf,
  OptionReader,
  wholeNumber,
} from '../core/validate.js';
import { type KeyHasher, plainKey } from '../core/key-hash.js';
import { keyPrefix, ruleId } from '../core/counter-key.js';
import { COUNT_WHEN, toShouldCount } from './count-when.js';
import { toWindowMs, windowName } from './window.js';
import { compileKey } from './key/compile-key.js';
import type { CompiledKey } from './key/key-types.js';
import { compileNormalize, refuseUnused } from './key/normalize.js';
import type { DenialMessage, FreqLimitRule, FromContext, OnMissingKey, Outcome, Scope } from './rule.js';

/** A rule as it was declared, with the place it stands at. */
export interface DeclaredRule {
  readonly rule: FreqLimitRule;
  /** The entry of `namedRules` that is meant; `rule` then is only what it changes of it. */
  readonly named?: string | undefined;
  /** Where it is written; also its scope unless the rule names another. */
  readonly level: Scope;
  /** The place as messages name it: `@FreqLimit on SmsController.send`. */
  readonly place: string;
}

/** What the module's options give a rule that says nothing itself. */
export interface RuleDefaults {
  readonly namespace: string;
  readonly defaultKey: FreqLimitRule['key'];
  readonly onMissingKey: OnMissingKey;
  readonly countDenied: boolean;
  readonly onStoreError: OnStoreError;
  /** What becomes of the texts that come from visitors. */
  readonly hashKey: KeyHasher;
}

/** The class and the handler that a rule is planned for: what makes their counters their own. */
export interface Owner {
  /** `SmsController`. */
  readonly className: string;
  /** All that tells this class from another of the same name, the same in every process. */
  readonly classIdentity: string;
  /** `send`; `undefined` for the class as a whole. */
  readonly handler: string | undefined;
}

/** A rule checked and compiled for one handler: nothing of it is parsed, looked up or validated again. */
export interface PlannedRule {
  /** The declared name; `undefined` for a rule without one. */
  readonly declaredName: string | undefined;
  /** The name in headers and results. */
  readonly name: string;
  /** Where the rule is written, as messages name it. */
  readonly place: string;
  /** Where it is written. */
  readonly level: Scope;
  readonly scope: Scope;
  /** Which counters are the rule's: two rules of one id and one window count together. */
  readonly id: string;
  readonly key: CompiledKey;
  readonly window: number | FromContext<unknown>;
  readonly limit: number | FromContext<unknown>;
  readonly cost: number | FromContext<unknown>;
  readonly onMissingKey: OnMissingKey;
  readonly countDenied: boolean;
  readonly onStoreError: OnStoreError;
  readonly skipIf: FromContext<unknown> | undefined;
  /** Whether a visit counts that ended so; `undefined` where all do. */
  readonly shouldCount: ((outcome: Outcome) => MaybePromise<unknown>) | undefined;
  readonly shadow: boolean;
  readonly statusCode: number;
  readonly message: DenialMessage | undefined;
  readonly hidden: boolean;
  /** The head of the counters' keys for a window; the key's text follows. */
  readonly keyPrefixFor: (windowMs: number) => string;
  /** What the key's text becomes before it follows the head; a constant one stays readable. */
  readonly hashKey: KeyHasher;
  /** Whether nothing of the rule is a function: then it is resolved without waiting, and cannot fail. */
  readonly isStatic: boolean;
}

export const NAME = matching(
  /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
  'a name of 1 to 64 characters A-Z a-z 0-9 _ . - that begins with a letter or a digit',
);
const SCOPE = oneOf('handler', 'controller', 'app');
export const ON_MISSING_KEY = oneOf('ip', 'skip', 'deny');
export const ON_STORE_ERROR = oneOf('memory', 'allow', 'deny');
const OF_CONTEXT = aFunction<FromContext<unknown>>();
export const MESSAGE: Validator<DenialMessage> = either(
  matching(/\S/, 'a text'),
  aFunction<Exclude<DenialMessage, string>>(),
);
const COUNT_OR_FUNCTION = either(COUNT, OF_CONTEXT);

export const RULE_PROPERTIES: readonly (keyof FreqLimitRule)[] = [
  'window',
  'limit',
  'key',
  'normalize',
  'name',
  'scope',
  'onMissingKey',
  'cost',
  'countDenied',
  'onStoreError',
  'skipIf',
  'countWhen',
  'shadow',
  'statusCode',
  'message',
  'hidden',
];

/** The words of other libraries for what ours are called. */
export const HINTS = {
  ttl: 'window',
  interval: 'window',
  duration: 'window',
  timeWindow: 'window',
  windowMs: 'window',
  max: 'limit',
  points: 'limit',
  tracker: 'key',
  getTracker: 'key',
  keyGenerator: 'key',
  normalise: 'normalize',
  weight: 'cost',
  skip: 'skipIf',
  skipOnError: 'onStoreError',
  passOnStoreError: 'onStoreError',
  insuranceLimiter: 'onStoreError',
  errorMessage: 'message',
  dryRun: 'shadow',
  skipFailedRequests: "countWhen: 'success'",
  skipSuccessfulRequests: "countWhen: 'failure'",
};

/**
 * Checks a declared rule and compiles it.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` naming the place, the option and the right form
 */
export function planRule(
  { rule, level, place }: DeclaredRule,
  owner: Owner,
  defaults: RuleDefaults,
): PlannedRule {
  const reader = new OptionReader(place, invalidRule);
  reader.object(rule, RULE_PROPERTIES, HINTS);
  const name = reader.optional('name', rule.name, NAME);
  const window =
    typeof rule.window === 'function' ? rule.window : reader.parsed('window', () => toWindowMs(rule.window));
  const scope = reader.optional('scope', rule.scope, SCOPE) ?? level;
  const key = keyOf(rule, defaults, reader);
  const id = idOf(scope, owner, [name ?? '', ...(name === undefined ? [key.spec, windowSpec(window)] : [])]);
  const limit = reader.required('limit', rule.limit, COUNT_OR_FUNCTION);
  const cost = reader.optional('cost', rule.cost, COUNT_OR_FUNCTION) ?? 1;
  const skipIf = reader.optional('skipIf', rule.skipIf, OF_CONTEXT);
  const functions = [window, limit, cost, skipIf].filter((value) => typeof value === 'function');
  return {
    declaredName: name,
    name: name ?? (typeof window === 'number' ? windowName(window) : 'limit'),
    place,
    level,
    scope,
    id,
    key,
    window,
    limit,
    cost,
    onMissingKey: reader.optional('onMissingKey', rule.onMissingKey, ON_MISSING_KEY) ?? defaults.onMissingKey,
    countDenied: reader.optional('countDenied', rule.countDenied, BOOLEAN) ?? defaults.countDenied,
    onStoreError: reader.optional('onStoreError', rule.onStoreError, ON_STORE_ERROR) ?? defaults.onStoreError,
    skipIf,
    shouldCount: toShouldCount(reader.optional('countWhen', rule.countWhen, COUNT_WHEN)),
    shadow: reader.optional('shadow', rule.shadow, BOOLEAN) ?? false,
    statusCode: reader.optional('statusCode', rule.statusCode, wholeNumber(400, 599)) ?? 429,
    message: reader.optional('message', rule.message, MESSAGE),
    hidden: reader.optional('hidden', rule.hidden, BOOLEAN) ?? false,
    keyPrefixFor: heads(defaults.namespace, id, window),
    hashKey: key.isDynamic || key.paths.length > 0 ? defaults.hashKey : plainKey,
    isStatic: functions.length === 0 && !key.isDynamic && !key.normalizers.some(isFunction),
  };
}

function keyOf(rule: FreqLimitRule, defaults: RuleDefaults, reader: OptionReader): CompiledKey {
  const normalization = reader.parsed('normalize', () => compileNormalize(rule.normalize));
  // null is no key, and no way to ask for the default
  // eslint-disable-next-line @typescript-eslint/prefer-nullish-coalescing
  const spec = rule.key === undefined ? defaults.defaultKey : rule.key;
  const key = reader.parsed('key', () => compileKey(spec, normalization));
  reader.parsed('normalize', () => {
    refuseUnused(normalization, key);
  });
  return key;
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

export function invalidRule(message: string, cause?: unknown): FreqLimitError {
  return new FreqLimitError('FREQ_LIMIT_INVALID_RULE', message, { cause });
}

/** The head for a constant window is made once; those for a function's windows as they come. */
function heads(namespace: string, id: string, window: PlannedRule['window']): PlannedRule['keyPrefixFor'] {
  if (typeof window === 'function') return (windowMs) => keyPrefix(namespace, id, windowMs);
  const head = keyPrefix(namespace, id, window);
  return () => head;
}

function windowSpec(window: PlannedRule['window']): string {
  return typeof window === 'function' ? 'ƒ' : String(window);
}

/**
 * Which counters are a rule's. A named rule is its name, so that its key or limit may be rewritten on the same
 * counters; one without a name is what it counts by and for how long.
 */
function idOf(scope: Scope, { className, classIdentity, handler }: Owner, self: readonly string[]): string {
  const label = { app: 'app', controller: className, handler: `${className}.${String(handler)}` }[scope];
  const owner = { app: [], controller: [classIdentity], handler: [classIdentity, handler] }[scope];
  const [name] = self;
  return ruleId(name === '' ? label : `${label}.${String(name)}`, [scope, ...owner, ...self]);
}
