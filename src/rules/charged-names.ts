import { formatForLog, invalidRule } from '../core/errors.js';
import { nearestName } from '../core/nearest-name.js';
import { hasConcurrency } from './concurrency.js';
import type { DeclaredRule } from './planned-rule.js';

/** The name of a rule in `@FreqLimitCharge(name)`. */
export interface ChargedName {
  readonly name: string;
  /** The place as messages show it. */
  readonly place: string;
}

/**
 * Stops a handler that wants to settle a rule that it does not have.
 * @param rules all that are declared for it, the closest to the handler last: one that is skipped or replaced is known too, and nothing is charged to it
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE`
 */
export function rejectUnknownCharge(
  { name, place }: ChargedName,
  rules: readonly DeclaredRule[],
  nameOf: (rule: DeclaredRule) => string | undefined,
): void {
  // the one closest to the handler replaces the others
  const closest = rules.findLast((one) => nameOf(one) === name);
  if (closest !== undefined && hasConcurrency(closest.rule)) {
    throw invalidRule(
      `${place}: the rule ${formatForLog(name)} has concurrency: its slot is released when the request ends, and there is nothing to settle`,
    );
  }
  const known = [...new Set(rules.map(nameOf).filter((one) => one !== undefined))];
  // a rule that is not known may have the name
  if (known.includes(name) || rules.some(({ error }) => error !== undefined)) return;
  const near = nearestName(name, known);
  const meant = near === undefined ? '' : `; did you mean ${near}?`;
  const unnamed = rules.some((rule) => nameOf(rule) === undefined)
    ? '; a rule needs the option name to be settled by it'
    : '';
  throw invalidRule(
    `${place}: no rule here has the name ${formatForLog(name)}${meant}; existing names: ${known.join(', ') || 'none'}${unnamed}`,
  );
}
