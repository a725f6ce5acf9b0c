import type { PlannedHandler } from '../plans/plans.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import { windowInId } from '../rules/rule-counters.js';

/** What the line at start-up says. */
interface Start {
  /** Where counters are: `the memory of this process`. */
  readonly place: string;
  /** Whether the store answers. */
  readonly isUp: boolean;
  readonly namespace: string;
  /** The handlers that a guard protects. */
  readonly protected: readonly PlannedHandler[];
  /** Whether the application has a rule at all. */
  readonly hasRules: boolean;
}

/** Says where counters are, and how many rules protect how many handlers. */
export function startLine({ place, isUp, namespace, protected: handlers, hasRules }: Start): string {
  const state = isUp ? '' : ' It is unavailable now, so onStoreError applies until it recovers.';
  return `Limits are counted in ${place}, namespace "${namespace}".${state} ${protection(handlers, hasRules)}`;
}

function protection(handlers: readonly PlannedHandler[], hasRules: boolean): string {
  if (handlers.length === 0) return hasRules ? 'No rule protects a handler.' : 'No handler has a limit.';
  const rules = distinct(handlers.flatMap(({ plan }) => plan.rules));
  const verb = rules.length === 1 ? 'protects' : 'protect';
  const shadows = rules.filter(({ shadow }) => shadow).length;
  const note = shadows === 0 ? '' : ` (${shadows} with shadow: true, which never denies)`;
  return `${count(rules.length, 'rule')}${note} ${verb} ${count(handlers.length, 'handler')}.`;
}

/** Each declared rule once, however many handlers it applies to. At one place, no two rules have the same name, or key, window and algorithm. */
function distinct(rules: readonly PlannedRule[]): PlannedRule[] {
  const byDeclaration = new Map(
    rules.map((rule) => {
      const { place, declaredName, key } = rule;
      return [JSON.stringify([place, declaredName ?? [key.spec, windowInId(rule)]]), rule];
    }),
  );
  return [...byDeclaration.values()];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
