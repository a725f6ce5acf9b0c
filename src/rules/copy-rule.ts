import { ENTRIES } from './plan-rule.js';

const NAMES = Object.keys(ENTRIES);

/** A copy of a rule, or of changes to one, with the options of its class: `{ ...rule }` would lose them without a word. */
export function copyRule(rule: object): object {
  const inherited = NAMES.filter((name) => name in rule && !Object.hasOwn(rule, name));
  const values = inherited.map((name) => [name, (rule as Readonly<Record<string, unknown>>)[name]] as const);
  return { ...rule, ...Object.fromEntries(values) };
}
