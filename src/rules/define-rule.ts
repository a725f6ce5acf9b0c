import { formatForLog, invalidRule } from '../core/errors.js';
import { type EntriesFor, OptionTable } from '../core/option-table.js';
import { OptionReader } from '../core/validate.js';
import { readCount, readWindow } from './from-configuration.js';
import { compileKey } from './key/compile-key.js';
import { rejectUnused } from './key/normalize.js';
import { ENTRIES } from './plan-rule.js';
import { RULE_HINTS } from './rule-hints.js';
import { mistakeIn } from './rule-mistakes.js';
import type { FreqLimitRule, FromContext, Window } from './rule.js';
import { FROM_CONTEXT, RULE_NAME } from './validators.js';

/** A rule for `defineRule`. Its window and its numbers may be strings, as in the environment. */
export interface RuleDefinition<Name extends string | undefined = string | undefined> extends Omit<
  FreqLimitRule,
  'window' | 'limit' | 'cost' | 'name'
> {
  /** Length of the fixed window: a string with a unit such as `'15m'`, or a number of seconds. */
  readonly window: string | number | FromContext<Window>;
  /** Units allowed in a window: a whole number of at least 0, also as a string of digits such as `'5'`. */
  readonly limit: string | number | FromContext<number>;
  /**
   * Units that one request uses: a whole number of at least 0, also as a string of digits.
   * @default 1
   */
  readonly cost?: string | number | FromContext<number> | undefined;
  /**
   * Name of the rule in headers, results and `@SkipFreqLimit(name)`. Leave it out for an entry of `namedRules`.
   * @default none
   */
  readonly name?: Name;
}

const OPTIONS = new OptionTable(
  {
    ...ENTRIES,
    window: { parse: readWindowOrFunction, isRequired: true },
    limit: { parse: readCount, isRequired: true },
    cost: { parse: readCount, default: undefined },
  } as const satisfies EntriesFor<FreqLimitRule>,
  RULE_HINTS,
);

/**
 * Checks a rule at once, and returns it with its type: for rules in variables and in lists, and for values from the
 * environment, as in `defineRule({ window: process.env.LOGIN_WINDOW ?? '15m', limit: process.env.LOGIN_LIMIT ?? 5 })`. Use
 * the result in `@FreqLimit(rule)`, in the module's `rules` and in `namedRules`.
 * @param rule at least `window` and `limit`; strings of digits become numbers
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` if it is wrong, with the option, the value and what to write
 */
export function defineRule<const Name extends string | undefined = undefined>(
  rule: RuleDefinition<Name>,
): FreqLimitRule & { readonly name: Name } {
  const place = placeOf(rule);
  const mistake = mistakeIn(rule);
  if (mistake !== undefined) throw invalidRule(`${place}: ${mistake}`);
  const reader = new OptionReader(place, invalidRule);
  const { limit, cost, key, normalize } = OPTIONS.read(rule, reader);
  // without a key, `normalize` is checked at start-up, with the `defaultKey` of the module
  if (key !== undefined) {
    const compiled = reader.parsed('key', () => compileKey(key, normalize));
    reader.parsed('normalize', () => {
      rejectUnused(normalize, compiled);
    });
  }
  const options = OPTIONS.names.map((name) => [name, rule[name as keyof RuleDefinition]] as const);
  const given = options.filter(([, value]) => value !== undefined);
  const defined = { ...Object.fromEntries(given), limit, ...(cost === undefined ? {} : { cost }) };
  return Object.freeze(defined) as unknown as FreqLimitRule & { readonly name: Name };
}

function readWindowOrFunction(value: unknown): Window | FromContext<unknown> {
  return FROM_CONTEXT.test(value) ? value : readWindow(value);
}

/** The name tells wrong rules of one file apart. */
function placeOf(rule: unknown): string {
  const { name } = Object(rule) as { readonly name?: unknown };
  return RULE_NAME.test(name) ? `defineRule ${formatForLog(name)}` : 'defineRule';
}
