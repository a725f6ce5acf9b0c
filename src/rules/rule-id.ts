import { ruleId } from '../core/counter-key.js';
import type { Owner, PlannedRule } from './planned-rule.js';
import { windowInId } from './rule-counters.js';
import type { Scope } from './rule.js';

interface Identity {
  readonly name: string | undefined;
  readonly scope: Scope;
  readonly window: PlannedRule['window'];
  readonly kindName: PlannedRule['kindName'];
  readonly key: PlannedRule['key'];
}

/**
 * The id of a rule's counters. A rule with a name is identified by it, and keeps its counters if its key or limit changes.
 * A rule without a name is identified by its key, its window and its algorithm.
 */
export function idOf(rule: Identity, { className, classIdentity, handler }: Owner): string {
  const { name, scope, key } = rule;
  const label = { app: 'app', controller: className, handler: `${className}.${String(handler)}` }[scope];
  const owner = { app: [], controller: [classIdentity], handler: [classIdentity, handler] }[scope];
  if (name !== undefined) return ruleId(`${label}.${name}`, [scope, ...owner, name]);
  return ruleId(label, [scope, ...owner, '', key.spec, windowInId(rule)]);
}
