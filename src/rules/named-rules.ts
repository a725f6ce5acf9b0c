import { FreqLimitError, formatForLog, invalidRule } from '../core/errors.js';
import { Mistakes } from '../core/mistakes.js';
import { OptionReader } from '../core/validate.js';
import { copyRule } from './copy-rule.js';
import { looksLikeWindow } from './window.js';
import type { Level } from './plan.js';
import { checkChanges, checkNamedRule } from './named-rule-options.js';
import type { DeclaredRule, RuleDefaults } from './planned-rule.js';
import type { AnyNamedRule, AnyRule } from './rule.js';
import { RULE_NAME } from './validators.js';

/** Rules by name, for the module's option `namedRules`. A name must not look like a window. */
export type NamedRules = Readonly<Record<string, AnyNamedRule>>;

const PLACE = 'namedRules of FreqLimitModule';

/** The module's named rules. Each is checked once. A wrong one is a mistake here, and every reference to it fails. */
export class NamedRuleSet {
  private readonly byName = new Map<string, AnyRule | FreqLimitError>();

  constructor(
    rules: NamedRules,
    private readonly defaults: RuleDefaults,
  ) {
    for (const [name, rule] of Object.entries(rules)) this.byName.set(name, this.check(name, rule));
  }

  /** The errors of wrong rules. */
  get errors(): readonly FreqLimitError[] {
    return [...this.byName.values()].filter((rule) => rule instanceof FreqLimitError);
  }

  /** The correct rules as declarations, for checks of all declarations. */
  get declaredRules(): readonly DeclaredRule[] {
    return [...this.byName].flatMap(([name, rule]) =>
      rule instanceof Error ? [] : [{ rule, level: 'handler', place: placeOf(name) } as const],
    );
  }

  /** Replaces the references of a level by the rules that they refer to. A wrong reference becomes a rule with an error. */
  resolve(level: Level): Level {
    if (level.rules.every(({ named }) => named === undefined)) return level;
    return { ...level, rules: level.rules.map((declared) => this.resolveReference(declared)) };
  }

  private resolveReference(declared: DeclaredRule): DeclaredRule {
    const { named, rule: changes, level, place } = declared;
    if (named === undefined) return declared;
    const mistakes = new Mistakes();
    const rule = mistakes.attempt(() => this.find(named, place));
    const reader = new OptionReader(`${place}: ${formatForLog(named)}`, invalidRule);
    mistakes.attempt(() => {
      checkChanges(changes, reader);
    });
    const given = Object.entries(changes).filter(([, value]) => value !== undefined);
    const changed = { ...rule, ...Object.fromEntries(given), name: named } as AnyRule;
    const keyPlace = given.some(([option]) => option === 'key') ? place : placeOf(named);
    return { rule: changed, level, place, keyPlace, error: mistakes.error };
  }

  private find(name: string, place: string): AnyRule {
    const rule =
      this.byName.get(name) ?? this.defaults.errors?.get('namedRules') ?? this.unknownName(name, place);
    if (rule instanceof FreqLimitError) throw rule;
    return rule;
  }

  private unknownName(name: string, place: string): FreqLimitError {
    const known = [...this.byName.keys()].join(', ') || 'none';
    const hint = looksLikeWindow(name)
      ? `; for a rule with this window, add its limit: @FreqLimit('${name}', limit)`
      : '';
    return invalidRule(
      `${place}: no rule in ${PLACE} has the name ${formatForLog(name)}; existing names: ${known}${hint}`,
    );
  }

  /** The rule with its name, or its error. */
  private check(name: string, given: unknown): AnyRule | FreqLimitError {
    const mistakes = new Mistakes();
    mistakes.attempt(() => {
      checkName(name);
    });
    mistakes.attempt(() => {
      checkNamedRule(given, new OptionReader(placeOf(name), invalidRule), this.defaults);
    });
    return mistakes.error ?? ({ ...copyRule(given as object), name } as AnyRule);
  }
}

function checkName(name: string): void {
  const place = `${PLACE}: ${formatForLog(name)}`;
  if (!RULE_NAME.test(name)) throw invalidRule(`${place} is not ${RULE_NAME.expected}`);
  if (looksLikeWindow(name)) throw invalidRule(`${place} looks like a window; choose another name`);
}

function placeOf(name: string): string {
  return RULE_NAME.test(name) ? `namedRules.${name} of FreqLimitModule` : `${PLACE}: ${formatForLog(name)}`;
}
