import { formatForLog, invalidRule } from '../core/errors.js';
import { Mistakes } from '../core/mistakes.js';
import { type EntriesFor, OptionTable } from '../core/option-table.js';
import { OptionReader } from '../core/validate.js';
import { type AnyWindow, isCalendar, readConstantWindow } from './any-window.js';
import { readCount, readWindow } from './from-configuration.js';
import { entriesWithConcurrency, hasConcurrency } from './concurrency.js';
import { compileKey } from './key/compile-key.js';
import { rejectUnused } from './key/normalize.js';
import { ENTRIES } from './plan-rule.js';
import { RULE_HINTS } from './rule-hints.js';
import { findContradictions } from './rule-kind.js';
import { mistakeIn } from './rule-mistakes.js';
import type { AnyNamedRule, FreqLimitRule, Window } from './rule.js';
import { FROM_CONTEXT, RULE_NAME } from './validators.js';
import { toWindowMs } from './window.js';

/** Options that may be strings, as in the environment, if the kind of rule has them. */
type FromEnvironment<Rule> = {
  readonly [Option in keyof Rule]: Option extends 'window' | 'forgiveAfter'
    ? Rule[Option] | (Window extends Rule[Option] ? string : never)
    : Option extends 'blockFor'
      ? Rule[Option] | (Window extends Rule[Option] ? string | readonly (string | number)[] : never)
      : Option extends 'limit' | 'cost' | 'burst' | 'concurrency'
        ? Rule[Option] | (number extends Rule[Option] ? string : never)
        : Rule[Option];
};

interface WithName<Name> {
  /**
   * Name of the rule in headers, results and `@SkipFreqLimit(name)`. Leave it out for an entry of `namedRules`.
   * @default none
   */
  readonly name?: Name;
}

type DefinitionOf<Rule, Name> = Rule extends unknown ? FromEnvironment<Rule> & WithName<Name> : never;

/**
 * A rule for `defineRule`. Its lengths of time may be any strings, and its numbers strings of digits, as in the environment.
 */
export type RuleDefinition<Name extends string | undefined = string | undefined> = DefinitionOf<
  AnyNamedRule,
  Name
>;

const FROM_ENVIRONMENT = {
  ...ENTRIES,
  window: { parse: readAnyWindow, isRequired: true },
  limit: { parse: readCount, isRequired: true },
  concurrency: { parse: readCount, default: undefined },
  cost: { parse: readCount, default: undefined },
  burst: { parse: readCount, default: undefined },
} as const satisfies EntriesFor<FreqLimitRule>;
const OPTIONS = new OptionTable(FROM_ENVIRONMENT, RULE_HINTS);
const WITH_CONCURRENCY = new OptionTable(entriesWithConcurrency(FROM_ENVIRONMENT), RULE_HINTS);

/**
 * Checks a rule at once, and returns it with its type: for rules in variables and in lists, and for values from the
 * environment, as in `defineRule({ window: process.env.LOGIN_WINDOW ?? '15m', limit: process.env.LOGIN_LIMIT ?? 5 })`. Use
 * the result in `@FreqLimit(rule)`, in the module's `rules` and in `namedRules`.
 * @param rule at least `window` and `limit`, or `concurrency`; strings of digits become numbers
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` if it is wrong, with the option, the value and what to write
 */
export function defineRule<const Name extends string | undefined = undefined>(
  rule: RuleDefinition<Name>,
): FreqLimitRule & { readonly name: Name } {
  const place = placeOf(rule);
  const mistake = mistakeIn(rule);
  if (mistake !== undefined) throw invalidRule(`${place}: ${mistake}`);
  const reader = new OptionReader(place, invalidRule);
  const { values, errors } = (hasConcurrency(rule) ? WITH_CONCURRENCY : OPTIONS).readAll(rule, reader);
  // the algorithm of the module is not known here, and is compared at start-up
  findContradictions(values, errors, reader, 'fixed-window');
  const { limit, concurrency, cost, burst, key, normalize } = new Mistakes(errors.values()).orThrow(values);
  // without a key, `normalize` is checked at start-up, with the `defaultKey` of the module
  if (key !== undefined) {
    const compiled = reader.parsed('key', () => compileKey(key, normalize));
    reader.parsed('normalize', () => {
      rejectUnused(normalize, compiled);
    });
  }
  const options = OPTIONS.names.map((name) => [name, rule[name as keyof RuleDefinition]] as const);
  const given = options.filter(([, value]) => value !== undefined);
  const numbers = Object.entries({ limit, concurrency, cost, burst }).filter(
    ([, value]) => value !== undefined,
  );
  const defined = { ...Object.fromEntries(given), ...Object.fromEntries(numbers) };
  return Object.freeze(defined) as unknown as FreqLimitRule & { readonly name: Name };
}

/** An empty string, or one that is missing, has a message of its own. */
function readAnyWindow(value: unknown): AnyWindow {
  if (FROM_CONTEXT.test(value)) return value;
  return isCalendar(value) ? readConstantWindow(value) : toWindowMs(readWindow(value));
}

/** The name tells wrong rules of one file apart. */
function placeOf(rule: unknown): string {
  const { name } = Object(rule) as { readonly name?: unknown };
  return RULE_NAME.test(name) ? `defineRule ${formatForLog(name)}` : 'defineRule';
}
