import { type FreqLimitError, invalidRule } from '../core/errors.js';
import { plainKey } from '../core/key-hash.js';
import { Mistakes } from '../core/mistakes.js';
import { type EntriesFor, type OptionErrors, OptionTable, type OptionValues } from '../core/option-table.js';
import { aFunction, BOOLEAN, COUNT, either, OptionReader, wholeNumber } from '../core/validate.js';
import { type AnyWindow, readAnyWindow } from './any-window.js';
import { blockOf, readBlockFor, readLength } from './block.js';
import { countingOptions, entriesWithConcurrency, hasConcurrency, HOLD_FOR } from './concurrency.js';
import { COUNT_WHEN, toShouldCount } from './count-when.js';
import { compileKey } from './key/compile-key.js';
import type { CompiledKey } from './key/key-types.js';
import { compileNormalize, NO_NORMALIZATION, rejectUnused } from './key/normalize.js';
import { MAX_SHARE } from './max-share.js';
import type { DeclaredRule, Owner, PlannedRule, RuleDefaults } from './planned-rule.js';
import { countersOf, keyPrefixes, spanOf } from './rule-counters.js';
import { RULE_HINTS } from './rule-hints.js';
import { idOf } from './rule-id.js';
import { findContradictions, type KindName, kindOf } from './rule-kind.js';
import { mistakeIn } from './rule-mistakes.js';
import type { ActualCost, FreqLimitRule } from './rule.js';
import {
  ALGORITHM,
  FROM_CONTEXT,
  MESSAGE,
  ON_MISSING_KEY,
  ON_STORE_ERROR,
  checkKey,
  RULE_NAME,
  SCOPE,
} from './validators.js';
import { windowName } from './window.js';

const DEFAULT_KEY = 'defaultKey of FreqLimitModule';
const COUNT_OR_FUNCTION = { ...either(COUNT, FROM_CONTEXT), toNumber: 'Number(…) or use defineRule' };

/** The checks and defaults of a rule's options. Without a default here, the module's option or the level applies. */
export const ENTRIES = {
  window: { parse: readAnyWindow, isRequired: true },
  limit: { validator: COUNT_OR_FUNCTION, isRequired: true },
  key: { parse: checkKey, default: undefined },
  normalize: { parse: compileNormalize, default: NO_NORMALIZATION },
  name: { validator: RULE_NAME, default: undefined },
  scope: { validator: SCOPE, default: undefined },
  onMissingKey: { validator: ON_MISSING_KEY, default: undefined },
  cost: { validator: COUNT_OR_FUNCTION, default: 1 },
  actualCost: { validator: aFunction<ActualCost>(), default: undefined },
  maxShare: { validator: MAX_SHARE, default: undefined },
  algorithm: { validator: ALGORITHM, default: undefined },
  burst: { validator: COUNT_OR_FUNCTION, default: undefined },
  blockFor: { parse: readBlockFor, default: undefined },
  forgiveAfter: { parse: readLength, default: undefined },
  concurrency: { validator: COUNT_OR_FUNCTION, default: undefined },
  holdFor: { validator: HOLD_FOR, default: undefined },
  countDenied: { validator: BOOLEAN, default: undefined },
  onStoreError: { validator: ON_STORE_ERROR, default: undefined },
  skipIf: { validator: FROM_CONTEXT, default: undefined },
  countWhen: { validator: COUNT_WHEN, default: 'request' },
  shadow: { validator: BOOLEAN, default: false },
  statusCode: { validator: wholeNumber(400, 599), default: 429 },
  message: { validator: MESSAGE, default: undefined },
  hidden: { validator: BOOLEAN, default: false },
} as const satisfies EntriesFor<FreqLimitRule>;

const OPTIONS = new OptionTable(ENTRIES, RULE_HINTS);
const WITH_CONCURRENCY = new OptionTable(entriesWithConcurrency(ENTRIES), RULE_HINTS);

type RuleOptions = OptionValues<typeof ENTRIES>;
export type RuleReader = OptionReader<FreqLimitError>;

/**
 * Checks a declared rule and compiles it.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` with a line for each wrong option: the place, the option and what is
 * expected
 */
export function planRule(declared: DeclaredRule, owner: Owner, defaults: RuleDefaults): PlannedRule {
  const { options: given, key } = readRule(declared, defaults);
  const options = countingOptions(given);
  const { name, scope = declared.level, window, limit, burst } = options;
  const kindName = kindOf(options, defaults.algorithm);
  const id = idOf({ name, scope, window, kindName, key }, owner);
  const keyPrefixFor = keyPrefixes(defaults.namespace, id, { window, kindName });
  return {
    declaredName: name,
    name: name ?? defaultName(window, kindName),
    place: declared.place,
    keyPlace: options.key === undefined ? DEFAULT_KEY : (declared.keyPlace ?? declared.place),
    level: declared.level,
    scope,
    id,
    key,
    window,
    span: spanOf(window),
    kindName,
    limit,
    burst,
    holdFor: options.holdFor ?? 'request',
    block: options.shadow ? undefined : blockOf(options.blockFor, options.forgiveAfter),
    cost: options.cost,
    actualCost: options.actualCost,
    maxShare: options.maxShare,
    onMissingKey: options.onMissingKey ?? defaults.onMissingKey,
    countDenied: options.countDenied ?? defaults.countDenied,
    onStoreError: options.onStoreError ?? defaults.onStoreError,
    skipIf: options.skipIf,
    shouldCount: toShouldCount(options.countWhen),
    shadow: options.shadow,
    statusCode: options.statusCode,
    message: options.message,
    hidden: options.hidden,
    keyPrefixFor,
    counterFor: countersOf({ window, kindName, limit, burst, keyPrefixFor }),
    hashKey: key.isDynamic || key.paths.length > 0 ? defaults.hashKey : plainKey,
    isStatic: isStatic(options, key),
    valueWatch: undefined,
  };
}

function defaultName(window: AnyWindow, kindName: KindName): string {
  if (kindName === 'concurrency') return kindName;
  if (typeof window === 'object') return window.calendar.unit;
  return typeof window === 'number' ? windowName(window) : 'limit';
}

interface RuleAndKey {
  readonly options: RuleOptions;
  readonly key: CompiledKey;
}

function readRule({ rule, place }: DeclaredRule, defaults: RuleDefaults): RuleAndKey {
  const mistake = mistakeIn(rule);
  if (mistake !== undefined) throw invalidRule(`${place}: ${mistake}`);
  const reader = new OptionReader(place, invalidRule);
  const { values, errors } = (hasConcurrency(rule) ? WITH_CONCURRENCY : OPTIONS).readAll(rule, reader);
  findContradictions(values, errors, reader, defaults.algorithm);
  return { options: values, key: keyOf(values, errors, reader, defaults) };
}

/**
 * Compiles the key of a rule.
 * @throws {FreqLimitError} if it is wrong, or if another option is
 */
export function keyOf(
  options: Pick<RuleOptions, 'key' | 'normalize'>,
  errors: OptionErrors,
  reader: RuleReader,
  defaults: RuleDefaults,
): CompiledKey {
  const mistakes = new Mistakes(errors.values());
  const areRight = !errors.has('key') && !errors.has('normalize');
  const key = areRight ? mistakes.attempt(() => compileWith(options, reader, defaults)) : undefined;
  return mistakes.orThrow(key);
}

function compileWith(
  { key, normalize }: Pick<RuleOptions, 'key' | 'normalize'>,
  reader: RuleReader,
  { defaultKey, errors }: RuleDefaults,
): CompiledKey {
  const wrongDefault = key === undefined ? errors?.get('defaultKey') : undefined;
  if (wrongDefault !== undefined) throw wrongDefault;
  const compiled = reader.parsed('key', () => compileKey(key ?? defaultKey, normalize));
  reader.parsed('normalize', () => {
    rejectUnused(normalize, compiled);
  });
  return compiled;
}

/** Whether nothing of the rule calls a function of the application. */
function isStatic({ window, limit, burst, cost, skipIf }: RuleOptions, key: CompiledKey): boolean {
  const timeZone = typeof window === 'object' ? window.timeZone : undefined;
  const values: readonly unknown[] = [window, timeZone, limit, burst, cost, skipIf, ...key.normalizers];
  return !key.isDynamic && !values.some((value) => typeof value === 'function');
}
