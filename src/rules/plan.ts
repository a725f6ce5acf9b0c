import { formatForLog, invalidRule } from '../core/errors.js';
import type { Attempt } from '../core/mistakes.js';
import { type ChargedName, rejectUnknownCharge } from './charged-names.js';
import { planOnce } from './plan-once.js';
import type { DeclaredRule, Owner, PlannedRule, RuleDefaults } from './planned-rule.js';
import { mistakeInName } from './skip-names.js';

/** The rules that one level (the module, a class, a handler) declares for a handler. */
export interface Level {
  readonly rules: readonly DeclaredRule[];
  /** The rules of this level and of those before it that `@SkipFreqLimit` removes. */
  readonly skip: Skip | undefined;
}

interface Skip {
  /** No names means all rules. */
  readonly names: readonly string[];
  /** The place as messages show it. */
  readonly place: string;
}

/** What other decorators of a handler mean for its limits. */
export interface HandlerTraits {
  /** Whether it has a parameter `@FreqLimitVerdict()`. */
  readonly showsVerdict: boolean;
  /** Whether it has a parameter `@FreqLimitCharge()`. */
  readonly showsCharges: boolean;
  /** The names of rules in these parameters. */
  readonly chargedNames: readonly ChargedName[];
  /** Whether its responses are redirections. */
  readonly redirects: boolean;
}

const NO_TRAITS: HandlerTraits = {
  showsVerdict: false,
  showsCharges: false,
  chargedNames: [],
  redirects: false,
};

/** The rules of one handler, in the order of headers and results: module, controller, handler, each as written. */
export interface Plan {
  readonly rules: readonly PlannedRule[];
  /** Whether no rule has a function: then nothing waits for the application's code or fails because of it. */
  readonly isStatic: boolean;
  /** Whether the outcome of a request decides what a rule counts: by `countWhen` or `actualCost`. */
  readonly settlesByOutcome: boolean;
  /** Whether that is decided when the handler has returned all its values, not at the first one. */
  readonly settlesAtEnd: boolean;
  /** Whether what a request was charged may change afterwards, by its outcome or by its handler. */
  readonly settles: boolean;
  /** Whether the handler has a parameter `@FreqLimitVerdict()`. */
  readonly showsVerdict: boolean;
  /** Whether the handler has a parameter `@FreqLimitCharge()`. */
  readonly showsCharges: boolean;
  /** Whether the handler redirects. Allowed responses then have no headers, because clients may delay the redirect. */
  readonly redirects: boolean;
  /** Whether the decision is needed after the guard, to settle it or to show it to the handler. */
  readonly keepsDecision: boolean;
  /** Whether a rule is a shadow rule. */
  readonly hasShadows: boolean;
  /** Whether a rule has `concurrency`. */
  readonly hasLeases: boolean;
  /** Whether a rule has `maxShare`. */
  readonly hasShares: boolean;
  /** The part that is declared on the handler itself; `undefined` if nothing is. */
  readonly handlerOnly: Plan | undefined;
}

/** Throws the first error. */
const THROW: Attempt = (step) => step();

/**
 * Merges the levels of a handler, outermost first, and plans the rules. Rules add up. If two share a name, the one closest
 * to the handler replaces the other, in its place.
 * @param attempt runs each step that may fail; if it keeps the errors, the plan has the rules that are right
 * @returns `undefined` if no rule is left
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE`
 */
export function planOf(
  levels: readonly Level[],
  owner: Owner,
  defaults: RuleDefaults,
  traits = NO_TRAITS,
  attempt = THROW,
): Plan | undefined {
  // also those that are replaced or skipped: a wrong rule is a mistake wherever it is
  const all = levels.flatMap((level) => level.rules);
  const planned = new Map(all.map((rule) => [rule, attempt(() => planDeclared(rule, owner, defaults))]));
  let declared: DeclaredRule[] = [];
  for (const level of levels) {
    declared = withoutSkipped(mergeByName(declared, level.rules, attempt), level.skip, attempt);
  }
  for (const charged of traits.chargedNames) {
    attempt(() => {
      rejectUnknownCharge(charged, all, nameOf);
    });
  }
  const rules = declared.flatMap((rule) => planned.get(rule) ?? []);
  rejectSharedCounters(rules, attempt);
  if (rules.length === 0) return undefined;
  const named = withDistinctNames(rules);
  return toPlan(named, traits, handlerOnly(named, traits));
}

function planDeclared(declared: DeclaredRule, owner: Owner, defaults: RuleDefaults): PlannedRule {
  if (declared.error !== undefined) throw declared.error;
  return planOnce(declared, owner, defaults);
}

function handlerOnly(rules: readonly PlannedRule[], traits: HandlerTraits): Plan | undefined {
  const own = rules.filter(({ level }) => level === 'handler');
  if (own.length === 0) return undefined;
  return toPlan(own.length === rules.length ? rules : own, traits, undefined);
}

function toPlan(
  rules: readonly PlannedRule[],
  { showsVerdict, showsCharges, redirects }: HandlerTraits,
  handlerOnly: Plan | undefined,
): Plan {
  const hasActualCost = rules.some(({ actualCost }) => actualCost !== undefined);
  const settlesByOutcome = hasActualCost || rules.some(({ shouldCount }) => shouldCount !== undefined);
  return {
    rules,
    isStatic: rules.every((rule) => rule.isStatic),
    settlesByOutcome,
    // what the handler settles goes in the same call
    settlesAtEnd: hasActualCost || showsCharges,
    settles: settlesByOutcome || showsCharges,
    showsVerdict,
    showsCharges,
    redirects,
    keepsDecision: settlesByOutcome || showsVerdict || showsCharges,
    hasShadows: rules.some(({ shadow }) => shadow),
    hasLeases: rules.some(({ kindName }) => kindName === 'concurrency'),
    hasShares: rules.some(({ maxShare }) => maxShare !== undefined),
    handlerOnly,
  };
}

/** Adds the rules of a level to those of outer levels. */
function mergeByName(
  outer: readonly DeclaredRule[],
  level: readonly DeclaredRule[],
  attempt: Attempt,
): DeclaredRule[] {
  const merged = [...outer];
  const namesOfLevel = new Set<string>();
  for (const declared of level) {
    const name = nameOf(declared);
    if (name !== undefined) {
      attempt(() => {
        rejectTaken(name, namesOfLevel, declared.place);
      });
      namesOfLevel.add(name);
    }
    const replaced = name === undefined ? -1 : merged.findIndex((other) => nameOf(other) === name);
    merged.splice(replaced === -1 ? merged.length : replaced, 1, declared);
  }
  return merged;
}

function rejectTaken(name: string, taken: ReadonlySet<string>, place: string): void {
  if (!taken.has(name)) return;
  throw invalidRule(`${place}: name: two rules have the name ${formatForLog(name)}; rename one of them`);
}

function withoutSkipped(rules: DeclaredRule[], skip: Skip | undefined, attempt: Attempt): DeclaredRule[] {
  if (skip === undefined) return rules;
  if (skip.names.length === 0) return [];
  for (const name of skip.names) {
    attempt(() => {
      rejectUnknown(name, rules, skip.place);
    });
  }
  return rules.filter((rule) => !skip.names.includes(nameOf(rule) ?? ''));
}

function rejectUnknown(name: string, rules: readonly DeclaredRule[], place: string): void {
  const mistake = mistakeInName(name);
  if (mistake !== undefined) throw invalidRule(`${place}: ${mistake}`);
  const known = rules.map(nameOf).filter((one) => one !== undefined);
  // a rule that is not known may have the name
  if (known.includes(name) || rules.some((rule) => rule.error !== undefined && nameOf(rule) === undefined))
    return;
  const unnamed = rules.length > known.length ? '; a rule needs the option name to be skipped by it' : '';
  throw invalidRule(
    `${place}: no rule here has the name ${formatForLog(name)}; existing names: ${known.join(', ') || 'none'}${unnamed}`,
  );
}

/** The name as declared. It is checked when the rule is planned. */
function nameOf({ rule }: DeclaredRule): string | undefined {
  return (rule as Partial<DeclaredRule['rule']> | null | undefined)?.name;
}

function rejectSharedCounters(rules: readonly PlannedRule[], attempt: Attempt): void {
  const byId = new Map<string, PlannedRule>();
  for (const rule of rules) {
    const other = byId.get(rule.id);
    byId.set(rule.id, rule);
    if (other === undefined) continue;
    attempt(() => {
      throw invalidRule(
        `${rule.place}: two rules without a name have ${windowText(rule)} and the key ${rule.key.spec}, so they would share a counter ` +
          `(the other: ${other.place}); give one of them a name`,
      );
    });
  }
}

function windowText({ name, kindName }: PlannedRule): string {
  if (kindName === 'concurrency') return 'concurrency';
  const algorithm =
    kindName === 'sliding-window' || kindName === 'token-bucket' ? `, the algorithm ${kindName}` : '';
  return `the window ${name}${algorithm}`;
}

/** Headers distinguish rules by name: of two rules without a name and with the same window, the second is `1m-2`. */
function withDistinctNames(rules: readonly PlannedRule[]): PlannedRule[] {
  const taken = new Set(rules.map((rule) => rule.declaredName));
  return rules.map((rule) => {
    if (rule.declaredName !== undefined) return rule;
    let name = rule.name;
    for (let n = 2; taken.has(name); n++) name = `${rule.name}-${n}`;
    taken.add(name);
    return name === rule.name ? rule : { ...rule, name };
  });
}
