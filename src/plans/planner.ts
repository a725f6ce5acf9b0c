import { nestLog } from '../nest/log.js';
import { NamedRuleSet } from '../rules/named-rules.js';
import { type HandlerTraits, type Level, type Plan, planOf } from '../rules/plan.js';
import type { DeclaredRule, Owner } from '../rules/planned-rule.js';
import type { FreqLimitRule } from '../rules/rule.js';
import { ValueWatches } from '../rules/value-watch.js';
import type { PlanOptions } from './plan-options.js';
import { PlanResult } from './plan-result.js';
import { SharedCounters } from './shared-counters.js';

const MODULE: Owner = { className: '', classIdentity: '', handler: undefined };

/** Makes plans of the module's rules and of the declarations on classes and handlers. */
export class Planner {
  /** The plan of the module's rules alone. */
  readonly modulePlan: PlanResult;
  private readonly moduleLevel: Level;
  private readonly namedRules: NamedRuleSet;
  private readonly counters = new SharedCounters();
  private readonly valueWatches = new ValueWatches(nestLog);

  constructor(private readonly options: PlanOptions) {
    this.moduleLevel = { rules: options.rules.map(declaredByModule), skip: undefined };
    this.namedRules = new NamedRuleSet(options.namedRules, options);
    // the module's rules are checked even if no handler has them
    this.modulePlan = PlanResult.of(() => this.plan([], MODULE));
  }

  /**
   * The plan of a class or a handler.
   * @param levels the declarations after the module's, the farthest first
   * @returns `undefined` if no rule is left
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE`
   */
  plan(levels: readonly Level[], owner: Owner, traits?: HandlerTraits): Plan | undefined {
    const resolved = [this.moduleLevel, ...levels].map((level) => this.namedRules.resolve(level));
    const plan = planOf(resolved, owner, this.options, traits);
    for (const rule of plan?.rules ?? []) {
      this.counters.check(rule);
      rule.valueWatch = this.valueWatches.of(rule);
    }
    return plan;
  }

  /** The errors in the module's own rules. */
  get errors(): readonly string[] {
    return [...this.namedRules.errors, ...this.modulePlan.errors];
  }

  /** The rules in the module's options, as they were written. */
  get declaredRules(): readonly DeclaredRule[] {
    return [...this.namedRules.declaredRules, ...this.moduleLevel.rules];
  }
}

function declaredByModule(rule: FreqLimitRule | string, index: number): DeclaredRule {
  const place = `rules[${index}] of FreqLimitModule`;
  if (typeof rule !== 'string') return { rule, level: 'app', place };
  return { named: rule, rule: {} as FreqLimitRule, level: 'app', place };
}
