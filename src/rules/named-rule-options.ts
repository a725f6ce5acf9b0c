import { type OptionEntry, OptionTable } from '../core/option-table.js';
import { entriesWithConcurrency, hasConcurrency } from './concurrency.js';
import { ENTRIES, keyOf, type RuleReader } from './plan-rule.js';
import type { RuleDefaults } from './planned-rule.js';
import { RULE_HINTS } from './rule-hints.js';
import { findContradictions } from './rule-kind.js';

const NAME_ELSEWHERE: OptionEntry = {
  parse: () => {
    throw new TypeError('the rule already has a name in namedRules; remove this option');
  },
  default: undefined,
  isElsewhere: true,
};
const EXCEPT_NAME = { ...ENTRIES, name: NAME_ELSEWHERE };

const NAMED_RULE = new OptionTable(EXCEPT_NAME, RULE_HINTS);
const WITH_CONCURRENCY = new OptionTable(
  { ...entriesWithConcurrency(ENTRIES), name: NAME_ELSEWHERE },
  RULE_HINTS,
);
/** A reference may leave out any option. */
const CHANGES = new OptionTable(
  Object.fromEntries(
    Object.entries<OptionEntry>(EXCEPT_NAME).map(([name, entry]) => [name, { ...entry, default: undefined }]),
  ),
  RULE_HINTS,
);

/**
 * Checks an entry of `namedRules`.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` with a line for each wrong option
 */
export function checkNamedRule(rule: unknown, reader: RuleReader, defaults: RuleDefaults): void {
  const { values, errors } = (hasConcurrency(rule) ? WITH_CONCURRENCY : NAMED_RULE).readAll(rule, reader);
  findContradictions(values, errors, reader, defaults.algorithm);
  keyOf(values, errors, reader, defaults);
}

/**
 * Checks what a reference changes in a rule.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` with a line for each wrong option
 */
export function checkChanges(changes: unknown, reader: RuleReader): void {
  CHANGES.read(changes, reader);
}
