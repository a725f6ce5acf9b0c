import type { FreqLimitError } from '../core/errors.js';
import { Mistakes } from '../core/mistakes.js';
import { nestLog } from '../nest/log.js';
import { NamedRuleSet } from '../rules/named-rules.js';
import { type HandlerTraits, type Level, planOf } from '../rules/plan.js';
import type { DeclaredRule, Owner } from '../rules/planned-rule.js';
import type { AnyRule } from '../rules/rule.js';
import { ValueWatches } from '../rules/value-watch.js';
import type { PlanOptions } from './plan-options.js';
import { PlanResult } from './plan-result.js';
import { SharedCounters } from './shared-counters.js';

const MODULE: Owner = { className: '', classIdentity: '', handler: undefined };

/** Makes plans of the module's rules and of the declarations on classes and handlers. */
export class Planner {
  /** The plan of the module's rules alone. */
  readonly modulePlan: PlanResult;
  /** As it was written. */
  private readonly declaredLevel: Level;
  /** Without references to named rules. */
  private readonly moduleLevel: Level;
  private readonly namedRules: NamedRuleSet;
  private readonly counters = new SharedCounters();
  private readonly valueWatches = new ValueWatches(nestLog);

  constructor(private readonly options: PlanOptions) {
    this.namedRules = new NamedRuleSet(options.namedRules, options);
    this.declaredLevel = { rules: declaredByModule(options), skip: undefined };
    this.moduleLevel = this.namedRules.resolve(this.declaredLevel);
    // the module's rules are checked even if no handler has them
    this.modulePlan = this.plan([], MODULE);
  }

  /**
   * The plan of a class or a handler. It cannot be used if the module's options or rules are wrong.
   * @param levels the declarations after the module's, the farthest first
   * @param mistake one that is known already
   */
  plan(levels: readonly Level[], owner: Owner, traits?: HandlerTraits, mistake?: FreqLimitError): PlanResult {
    const { options, namedRules, counters } = this;
    const mistakes = new Mistakes(options.errors?.values());
    if (mistake !== undefined) mistakes.add(mistake);
    const resolved = [this.moduleLevel, ...levels.map((level) => namedRules.resolve(level))];
    const plan = planOf(resolved, owner, options, traits, mistakes.attempt);
    for (const rule of plan?.rules ?? []) {
      mistakes.attempt(() => {
        counters.check(rule);
      });
      rule.valueWatch = this.valueWatches.of(rule);
    }
    return new PlanResult(plan, mistakes.error);
  }

  /** The errors in the module's options and in its own rules. */
  get errors(): readonly FreqLimitError[] {
    const { options, namedRules, modulePlan } = this;
    const ofModule = modulePlan.error === undefined ? [] : [modulePlan.error];
    return [...(options.errors?.values() ?? []), ...ofModule, ...namedRules.errors];
  }

  /** The rules in the module's options, as they were written. */
  get declaredRules(): readonly DeclaredRule[] {
    return [...this.namedRules.declaredRules, ...this.declaredLevel.rules];
  }
}

function declaredByModule({ rules, errors }: PlanOptions): DeclaredRule[] {
  const error = errors?.get('rules');
  if (error !== undefined) return [{ rule: {} as AnyRule, level: 'app', place: 'FreqLimitModule', error }];
  return rules.map((rule, index) => {
    const place = `rules[${index}] of FreqLimitModule`;
    if (typeof rule !== 'string') return { rule, level: 'app', place };
    return { named: rule, rule: {} as AnyRule, level: 'app', place };
  });
}
