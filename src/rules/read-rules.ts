import { formatForLog, quoted } from '../core/errors.js';
import type { AnyRule } from './rule.js';
import { isRulesByName, looksLikeRule, rulesText } from './rule-mistakes.js';

/**
 * Reads the module's option `rules`. Each rule is checked when it is planned.
 * @throws {TypeError} for a value that is not a list; the message says how to write it
 */
export function readRules(given: unknown): readonly (AnyRule | string)[] {
  if (Array.isArray(given)) return given as readonly (AnyRule | string)[];
  throw new TypeError(`${formatForLog(given)} is not a list of rules; write rules: [${entriesFor(given)}]`);
}

function entriesFor(given: unknown): string {
  if (typeof given === 'string') return quoted(given);
  if (looksLikeRule(given)) return rulesText([given]);
  return isRulesByName(given) ? rulesText(given) : "{ window: '1m', limit: 5 }";
}
