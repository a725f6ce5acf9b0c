import { planRule } from './plan-rule.js';
import type { DeclaredRule, Owner, PlannedRule, RuleDefaults } from './planned-rule.js';
import { canLackValues } from './watched-values.js';

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
  if (isShareable(rule)) rules.set(declared, { rule, classIdentity: owner.classIdentity });
  return rule;
}

/** A rule whose values may be missing is watched, and the watch ends for each handler on its own. */
function isShareable({ scope, key }: PlannedRule): boolean {
  return scope !== 'handler' && !canLackValues(key);
}

function isOfOwner({ rule, classIdentity }: SharedRule, owner: Owner): boolean {
  return rule.scope === 'app' || classIdentity === owner.classIdentity;
}
