import { isMadeAtRunTime } from '../plans/class-identity.js';
import type { ClassPlans } from '../plans/class-plans.js';
import type { FreqLimitPlans } from '../plans/plans.js';
import { constructorOf } from '../rules/class-ref.js';
import { methodNames } from '../rules/methods.js';
import type { Warning } from './warning.js';

/** Classes with limits whose requests are counted by the limits of another class. */
export function wrongConstructors(plans: FreqLimitPlans): Warning[] {
  return plans.classes.flatMap((one) => {
    const other = plans.countedAs(one);
    if (other === one || !one.hasRules()) return [];
    const { name } = one.classRef;
    const constructor = constructorOf(one.classRef)?.name ?? '';
    return [
      {
        code: 'FREQ_LIMIT_WRONG_CONSTRUCTOR',
        message:
          `${name} has limits, but its prototype has the constructor of ${constructor}, so its requests are counted by the ` +
          `limits of ${other.classRef.name}. Do not copy "constructor" when you copy methods to ${name}.`,
      },
    ];
  });
}

/** Classes with the same identity. Counters by class and handler must be the same in every process. */
export function ambiguousClasses(plans: FreqLimitPlans): Warning[] {
  const byFacts = new Map<string, ClassPlans[]>();
  for (const one of plans.classes) {
    const same = byFacts.get(one.identity.facts);
    if (same === undefined) byFacts.set(one.identity.facts, [one]);
    else same.push(one);
  }
  return [...byFacts.values()].flatMap((same) => {
    const [first, ...others] = same;
    if (first === undefined || others.length === 0) return [];
    if (!same.some((one) => countsByClass(one, plans))) return [];
    return [{ code: 'FREQ_LIMIT_AMBIGUOUS_CLASS', message: ambiguous(first) }];
  });
}

/** Whether the class itself has limits, or the module's rules count it separately. */
function countsByClass(one: ClassPlans, plans: FreqLimitPlans): boolean {
  if (one.hasRules()) return true;
  return methodNames(one.classRef.prototype).some(
    (name) =>
      plans.kindOf(one, name) !== undefined &&
      one.ofMethod(name).planIfValid?.rules.some(({ scope }) => scope !== 'app') === true,
  );
}

function ambiguous({ classRef, identity }: ClassPlans): string {
  const same = `${identity.label}, in the same module and with the same routes`;
  const why =
    'Their order decides which of them uses which counters, and the order may differ between processes.';
  return isMadeAtRunTime(classRef.name)
    ? `Several classes with limits were made at run time from ${same}. ${why} Give each a name after mixin(): ` +
        "Object.defineProperty(classRef, 'name', { value: 'CatsController' })."
    : `Several classes with limits are called ${same}. ${why} Rename all but one.`;
}
