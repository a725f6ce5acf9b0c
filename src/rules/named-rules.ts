import { FreqLimitError, formatForLog, invalidRule } from '../core/errors.js';
import { OptionReader } from '../core/validate.js';
import { looksLikeWindow } from './window.js';
import type { Level } from './plan.js';
import { planRule, RULE_OPTION_NAMES } from './plan-rule.js';
import type { DeclaredRule, RuleDefaults } from './planned-rule.js';
import { RULE_HINTS } from './rule-hints.js';
import type { FreqLimitRule } from './rule.js';
import { RULE_NAME } from './validators.js';

/** Rules by name, for the module's option `namedRules`. A name must not look like a window. */
export type NamedRules = Readonly<Record<string, Omit<FreqLimitRule, 'name'>>>;

const PLACE = 'namedRules of FreqLimitModule';
const OPTIONS_EXCEPT_NAME = RULE_OPTION_NAMES.filter((name) => name !== 'name');
const NO_OWNER = { className: '', classIdentity: '', handler: undefined };

/** The module's named rules. Each is checked once. A wrong one is a problem here, and for each reference to it. */
export class NamedRuleSet {
  private readonly byName = new Map<string, FreqLimitRule | FreqLimitError>();

  constructor(rules: NamedRules, defaults: RuleDefaults) {
    for (const [name, rule] of Object.entries(rules)) this.byName.set(name, check(name, rule, defaults));
  }

  /** The messages of wrong rules. */
  get errors(): readonly string[] {
    return [...this.byName.values()].filter((rule) => rule instanceof Error).map(({ message }) => message);
  }

  /** The correct rules as declarations, for checks of all declarations. */
  get declaredRules(): readonly DeclaredRule[] {
    return [...this.byName].flatMap(([name, rule]) =>
      rule instanceof Error ? [] : [{ rule, level: 'handler', place: placeOf(name) } as const],
    );
  }

  /**
   * Replaces the references of a level by the rules that they refer to.
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` for an unknown name or a wrong rule
   */
  resolve(level: Level): Level {
    if (level.rules.every(({ named }) => named === undefined)) return level;
    return { ...level, rules: level.rules.map((declared) => this.resolveReference(declared)) };
  }

  private resolveReference({ named, rule: changes, level, place }: DeclaredRule): DeclaredRule {
    if (named === undefined) return { rule: changes, level, place };
    const rule = this.byName.get(named) ?? this.unknownName(named, place);
    if (rule instanceof Error) throw rule;
    const reader = new OptionReader(`${place}: ${formatForLog(named)}`, invalidRule);
    const given = Object.entries(readExceptName(changes, reader)).filter(([, value]) => value !== undefined);
    const changed = Object.fromEntries(given);
    const keyPlace = 'key' in changed ? place : placeOf(named);
    return { rule: { ...rule, ...changed }, level, place, keyPlace };
  }

  private unknownName(name: string, place: string): FreqLimitError {
    const known = [...this.byName.keys()].join(', ') || 'none';
    const hint = looksLikeWindow(name)
      ? `; for a rule with this window, add its limit: @FreqLimit('${name}', limit)`
      : '';
    return invalidRule(
      `${place}: no rule in ${PLACE} has the name ${formatForLog(name)}; the names are ${known}${hint}`,
    );
  }
}

/** The rule with its name, or its error. */
function check(name: string, given: unknown, defaults: RuleDefaults): FreqLimitRule | FreqLimitError {
  try {
    if (!RULE_NAME.test(name))
      throw invalidRule(`${PLACE}: ${formatForLog(name)} is not ${RULE_NAME.expected}`);
    if (looksLikeWindow(name))
      throw invalidRule(`${PLACE}: ${formatForLog(name)} is not a name, because it looks like a window`);
    const place = placeOf(name);
    const rule = { ...readExceptName(given, new OptionReader(place, invalidRule)), name } as FreqLimitRule;
    planRule({ rule, level: 'handler', place }, NO_OWNER, defaults);
    return rule;
  } catch (error) {
    if (error instanceof FreqLimitError) return error;
    throw error;
  }
}

function readExceptName(given: unknown, reader: OptionReader): Readonly<Record<string, unknown>> {
  if ((Object(given) as { readonly name?: unknown }).name !== undefined)
    throw reader.invalid('name', 'a named rule has its name in namedRules; remove this option');
  return reader.object(given, OPTIONS_EXCEPT_NAME, RULE_HINTS);
}

function placeOf(name: string): string {
  return `namedRules.${name} of FreqLimitModule`;
}
