import type { HandlerKind } from '../../../src/plans/handler-kinds.js';
import type { PlannedHandler } from '../../../src/plans/plans.js';
import { planOf } from '../../../src/rules/plan.js';
import type { DeclaredRule } from '../../../src/rules/planned-rule.js';
import { DEFAULTS, OWNER } from '../fixtures.js';

/** A handler of a class `Sms` with a plan of these rules. */
export function plannedHandler(
  name: string,
  rules: readonly DeclaredRule[],
  kind: HandlerKind | undefined = 'route',
  defaults: Partial<typeof DEFAULTS> = {},
): PlannedHandler {
  const plan = planOf(
    [{ rules, skip: undefined }],
    { ...OWNER, handler: name },
    { ...DEFAULTS, ...defaults },
  );
  if (plan === undefined) throw new Error('a handler without rules has no plan');
  return { classRef: class Sms {}, name, method: () => undefined, plan, kind };
}
