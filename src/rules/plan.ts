import { formatForLog } from '../core/errors.js';
import {
  type DeclaredRule,
  invalidRule,
  type Owner,
  planRule,
  type PlannedRule,
  type RuleDefaults,
} from './planned-rule.js';

/** What one level (the module, a class, a handler) says of the rules of a handler. */
export interface Level {
  readonly rules: readonly DeclaredRule[];
  /** What `@SkipFreqLimit` takes away of this level and of those before it. */
  readonly skip: Skip | undefined;
}

interface Skip {
  /** No names: all rules. */
  readonly names: readonly string[];
  /** The place as messages name it. */
  readonly place: string;
}

/** What a handler's own decorators say that is of use to its limits. */
export interface HandlerTraits {
  /** Whether it asks for its verdict. */
  readonly showsVerdict: boolean;
  /** Whether its answers are redirections. */
  readonly redirects: boolean;
}

const NO_TRAITS: HandlerTraits = { showsVerdict: false, redirects: false };

/** The rules of one handler, in the order they are asked and shown: module, controller, handler, each as written. */
export interface Plan {
  readonly rules: readonly PlannedRule[];
  /** Whether no rule has a function: nothing of the plan waits or fails by the application's code. */
  readonly isStatic: boolean;
  /** Whether some rule counts by how a visit ends. */
  readonly hasCountWhen: boolean;
  /** Whether the handler asks for its verdict. */
  readonly showsVerdict: boolean;
  /** Whether the handler redirects: then a visit that passes is told no numbers, lest a client waits with following. */
  readonly redirects: boolean;
  /** Whether what was decided is wanted after the guard, to settle it or to show it to the handler. */
  readonly keepsDecision: boolean;
  /** Whether some rule only reports. */
  readonly hasShadows: boolean;
  /** The part that is written on the handler itself; `undefined` where nothing is. */
  readonly handlerOnly: Plan | undefined;
}

/**
 * Merges what the levels say, from the farthest to the nearest, and compiles it.
 * Rules add up; of one name the nearest stands, in the place of the one it replaces.
 * @param traits of the handler
 * @returns `undefined` where no rule is left
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE`
 */
export function planOf(
  levels: readonly Level[],
  owner: Owner,
  defaults: RuleDefaults,
  traits = NO_TRAITS,
): Plan | undefined {
  let declared: DeclaredRule[] = [];
  for (const level of levels) {
    declared = withoutSkipped(mergeByName(declared, level.rules), level.skip);
  }
  if (declared.length === 0) return undefined;
  const rules = declared.map((rule) => planRule(rule, owner, defaults));
  refuseSharedCounters(rules);
  const named = withDistinctNames(rules);
  const plan = toPlan(named, traits);
  const own = named.filter(({ level }) => level === 'handler');
  return {
    ...plan,
    handlerOnly: own.length === named.length ? plan : own.length === 0 ? undefined : toPlan(own, traits),
  };
}

function toPlan(rules: readonly PlannedRule[], { showsVerdict, redirects }: HandlerTraits): Plan {
  const hasCountWhen = rules.some(({ shouldCount }) => shouldCount !== undefined);
  return {
    rules,
    isStatic: rules.every((rule) => rule.isStatic),
    hasCountWhen,
    showsVerdict,
    redirects,
    keepsDecision: hasCountWhen || showsVerdict,
    hasShadows: rules.some(({ shadow }) => shadow),
    handlerOnly: undefined,
  };
}

function mergeByName(farther: readonly DeclaredRule[], level: readonly DeclaredRule[]): DeclaredRule[] {
  const result = [...farther];
  const here = new Set<string>();
  for (const declared of level) {
    const name = nameOf(declared);
    if (name === undefined) {
      result.push(declared);
      continue;
    }
    if (here.has(name))
      throw invalidRule(`${declared.place}: name: two rules are called ${formatForLog(name)}`);
    here.add(name);
    const replaced = result.findIndex((other) => nameOf(other) === name);
    result.splice(replaced === -1 ? result.length : replaced, 1, declared);
  }
  return result;
}

function withoutSkipped(rules: DeclaredRule[], skip: Skip | undefined): DeclaredRule[] {
  if (skip === undefined) return rules;
  if (skip.names.length === 0) return [];
  for (const name of skip.names) {
    if (rules.some((rule) => nameOf(rule) === name)) continue;
    const known = rules.map(nameOf).filter((other) => other !== undefined);
    throw invalidRule(
      `${skip.place}: there is no rule called ${formatForLog(name)} here; the names are ${known.join(', ') || 'none'}`,
    );
  }
  return rules.filter((rule) => !skip.names.includes(nameOf(rule) ?? ''));
}

/** The name as written; whether it may be one is checked when the rule is planned. */
function nameOf({ rule }: DeclaredRule): string | undefined {
  return (rule as Partial<DeclaredRule['rule']> | null | undefined)?.name;
}

function refuseSharedCounters(rules: readonly PlannedRule[]): void {
  const seen = new Map<string, PlannedRule>();
  for (const rule of rules) {
    const other = seen.get(rule.id);
    if (other !== undefined) {
      throw invalidRule(
        `${rule.place}: two rules count on one counter (${rule.key.spec} in ${rule.name}; the other: ${other.place}); give one of them a name`,
      );
    }
    seen.set(rule.id, rule);
  }
}

/** Headers tell rules apart by name: of two unnamed rules of one window, the second is `1m-2`. */
function withDistinctNames(rules: readonly PlannedRule[]): PlannedRule[] {
  const taken = new Set(rules.map((rule) => rule.declaredName));
  return rules.map((rule) => {
    if (rule.declaredName !== undefined) return rule;
    let name = rule.name;
    for (let n = 2; taken.has(name); n++) name = `${rule.name}-${n}`;
    taken.add(name);
    return { ...rule, name };
  });
}
