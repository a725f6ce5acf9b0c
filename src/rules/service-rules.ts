import type { Type } from '@nestjs/common';
import { formatForLog } from '../core/errors.js';
import { matching, type OptionReader, type Validator } from '../core/validate.js';
import type { PlannedRule } from './planned-rule.js';
import type { RuleCheck } from './service-check-types.js';

/**
 * The rules of a handler; of a whole controller if there is no handler; of the module if there is neither.
 * @throws {TypeError} if the application has no such controller, or the controller no such handler
 */
export type RulesOf = (controller: Type | undefined, handler: string | undefined) => readonly PlannedRule[];

const A_CLASS: Validator<Type> = {
  test: (value): value is Type => typeof value === 'function',
  expected: 'a class; write the class itself, such as controller: LoginController',
};
const A_METHOD = matching(/./s, "the name of a method; write it as a string, such as handler: 'login'");
const A_NAME = matching(/./s, "the name of a rule; write it as a string, such as rule: 'login'");

/** Finds the rule that a check names. */
export function findRule(check: RuleCheck, rulesOf: RulesOf, reader: OptionReader): PlannedRule {
  const { controller, handler } = check;
  reader.required('rule', check.rule, A_NAME);
  reader.optional('controller', controller, A_CLASS);
  reader.optional('handler', handler, A_METHOD);
  if (controller === undefined && handler !== undefined) {
    throw reader.invalid('controller', `is missing; pass the class of the handler ${formatForLog(handler)}`);
  }
  const rules = reader.parsed('controller', () => rulesOf(controller, handler));
  const rule = rules.find(({ name }) => name === check.rule);
  if (rule === undefined) throw unknownRule(check, rules, reader);
  rejectMissingPlace(rule, check, reader);
  return rule;
}

function unknownRule(
  { rule, controller, handler }: RuleCheck,
  rules: readonly PlannedRule[],
  reader: OptionReader,
): Error {
  const place = [controller?.name, handler].filter((part) => part !== undefined).join('.') || 'the module';
  const known = rules.map(({ name }) => name).join(', ') || 'none';
  return reader.invalid(
    'rule',
    `${place} has no rule called ${formatForLog(rule)}; its rules: ${known}${otherPlace(controller, handler)}`,
  );
}

/** A rule is only found where it is declared, or where its declaration applies. */
function otherPlace(controller: unknown, handler: unknown): string {
  if (controller === undefined)
    return '; for a rule of a controller or a handler, add controller and handler';
  return handler === undefined ? '; for a rule of a handler, add handler' : '';
}

/** A rule that each handler or controller counts separately has no counter without one. */
function rejectMissingPlace(
  { name, scope }: PlannedRule,
  { controller, handler }: RuleCheck,
  reader: OptionReader,
): void {
  if (scope === 'handler' && handler === undefined) {
    throw reader.invalid(
      'handler',
      `is missing; the rule ${formatForLog(name)} counts each handler separately`,
    );
  }
  if (scope === 'controller' && controller === undefined) {
    throw reader.invalid(
      'controller',
      `is missing; the rule ${formatForLog(name)} counts each controller separately`,
    );
  }
}
