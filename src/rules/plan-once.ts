import { planRule } from './plan-rule.js';
import type { DeclaredRule, Owner, PlannedRule, RuleDefaults } from './planned-rule.js';

interface SharedRule {
  readonly rule: PlannedRule;
  readonly classIdentity: string;
}

/** By the module's options, then by declaration. */
const known = new WeakMap<RuleDefaults, WeakMap<DeclaredRule, SharedRule>>();

/**
 * Plans a rule. Handlers that share its counters share the planned rule too, so that an application with thousands of
 * handlers has the rules of its module once.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE`
 */
export function planOnce(declared: DeclaredRule, owner: Owner, defaults: RuleDefaults): PlannedRule {
  const rules = known.get(defaults) ?? new WeakMap<DeclaredRule, SharedRule>();
  known.set(defaults, rules);
  const shared = rules.get(declared);
  if (shared !== undefined && isOfOwner(shared, owner)) return shared.rule;
  const rule = planRule(declared, owner, defaults);
  if (rule.scope !== 'handler') rules.set(declared, { rule, classIdentity: owner.classIdentity });
  return rule;
}

function isOfOwner({ rule, classIdentity }: SharedRule, owner: Owner): boolean {
  return rule.scope === 'app' || classIdentity === owner.classIdentity;
}
