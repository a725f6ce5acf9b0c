import { FreqLimitError, formatForLog } from '../core/errors.js';
import { OptionReader } from '../core/validate.js';
import { looksLikeWindow } from './window.js';
import type { Level } from './plan.js';
import {
  type DeclaredRule,
  HINTS,
  invalidRule,
  NAME,
  planRule,
  RULE_PROPERTIES,
  type RuleDefaults,
} from './planned-rule.js';
import type { FreqLimitRule } from './rule.js';

/** Rules by their names. A name is a rule's name, and none that looks like a window. */
export type NamedRules = Readonly<Record<string, Omit<FreqLimitRule, 'name'>>>;

const WHERE = 'namedRules of FreqLimitModule';
const CHANGES = RULE_PROPERTIES.filter((property) => property !== 'name');
const NOBODY = { className: '', classIdentity: '', handler: undefined };

/** The module's table of named rules. An entry is checked once; a wrong one is a problem here and wherever it is meant. */
export class NamedRuleSet {
  private readonly byName = new Map<string, FreqLimitRule | FreqLimitError>();

  constructor(table: NamedRules, defaults: RuleDefaults) {
    for (const [name, rule] of Object.entries(table)) this.byName.set(name, checked(name, rule, defaults));
  }

  /** What is wrong with the entries, a line each. */
  get problems(): readonly string[] {
    return [...this.byName.values()].filter((rule) => rule instanceof Error).map(({ message }) => message);
  }

  /** The entries as if they were declared, for who looks over all declarations. */
  get declared(): readonly DeclaredRule[] {
    return [...this.byName].flatMap(([name, rule]) =>
      rule instanceof Error ? [] : [{ rule, level: 'handler', place: placeOf(name) } as const],
    );
  }

  /**
   * A level with the rules that its references mean.
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` where there is no rule of the name, or a wrong one
   */
  resolve(level: Level): Level {
    if (level.rules.every(({ named }) => named === undefined)) return level;
    return { ...level, rules: level.rules.map((declared) => this.resolveReference(declared)) };
  }

  private resolveReference({ named, rule: changes, level, place }: DeclaredRule): DeclaredRule {
    if (named === undefined) return { rule: changes, level, place };
    const found = this.byName.get(named) ?? this.unknown(named, place);
    if (found instanceof Error) throw found;
    const reader = new OptionReader(`${place}: ${formatForLog(named)}`, invalidRule);
    refuseName(reader, changes.name);
    const given = Object.entries(reader.object(changes, CHANGES, HINTS)).filter(
      ([, value]) => value !== undefined,
    );
    return { rule: { ...found, ...Object.fromEntries(given) }, level, place };
  }

  private unknown(named: string, place: string): FreqLimitError {
    const known = [...this.byName.keys()].join(', ') || 'none';
    const hint = looksLikeWindow(named)
      ? `; it looks like a window, and then its limit is missing: @FreqLimit('${named}', limit)`
      : '';
    return invalidRule(
      `${place}: there is no rule called ${formatForLog(named)} in ${WHERE}; the names are ${known}${hint}`,
    );
  }
}

/** The rule of an entry under its name, or what is wrong with it. */
function checked(name: string, entry: unknown, defaults: RuleDefaults): FreqLimitRule | FreqLimitError {
  try {
    const place = placeOf(name);
    const reader = new OptionReader(place, invalidRule);
    if (!NAME.test(name)) throw invalidRule(`${WHERE}: ${formatForLog(name)} is not ${NAME.expected}`);
    if (looksLikeWindow(name))
      throw invalidRule(`${WHERE}: ${formatForLog(name)} is no name, it looks like a window`);
    refuseName(reader, (Object(entry) as { readonly name?: unknown }).name);
    const rule = { ...reader.object(entry, CHANGES, HINTS), name } as FreqLimitRule;
    planRule({ rule, level: 'handler', place }, NOBODY, defaults);
    return rule;
  } catch (error) {
    if (error instanceof FreqLimitError) return error;
    throw error;
  }
}

function refuseName(reader: OptionReader, name: unknown): void {
  if (name !== undefined)
    throw reader.invalid('name', 'a named rule is called by its name in namedRules; leave it out');
}

function placeOf(name: string): string {
  return `namedRules.${name} of FreqLimitModule`;
}
