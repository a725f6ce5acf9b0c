import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { formatForLog, invalidRule } from '../core/errors.js';
import {
  type FreqLimitCharge as Charge,
  type FreqLimitCharges as Charges,
  NO_CHARGE,
  NO_CHARGES,
} from '../decisions/charge.js';
import { findDecision } from '../decisions/decisions.js';
import { declareCharge } from '../rules/metadata.js';
import { RULE_NAME } from '../rules/validators.js';
import { rejectWithoutParentheses } from './decorated-place.js';
import { parameterDecorator } from './parameter-decorator.js';

const chargeOf = createParamDecorator<string, Charge>((rule, context: ExecutionContext) => {
  return findDecision(context)?.charges?.of(rule) ?? NO_CHARGE;
});

const chargesOf = createParamDecorator<unknown, Charges>((_, context: ExecutionContext) => {
  return findDecision(context)?.charges?.all() ?? NO_CHARGES;
});

/** What a request was charged by one rule, for the handler that knows the real cost. */
export type FreqLimitCharge = Charge;

/**
 * Passes what the request was charged to a parameter of its handler, which settles what it has really used:
 *
 * - by one rule: `ask(@FreqLimitCharge('tokens') charge: FreqLimitCharge)`, and then `await charge.settle(812)`;
 * - by all rules, in one call: `ask(@FreqLimitCharge() charges: FreqLimitCharges)`, and then
 *   `await charges.settle({ input: 812, output: 90 })`. Import `FreqLimitCharges` by `import type`, or as `type FreqLimitCharges`.
 *
 * @param rule the name of a rule of the handler; an unknown name stops the application at start-up
 */
export function FreqLimitCharge(rule?: string): ParameterDecorator;
export function FreqLimitCharge(...given: readonly unknown[]): ParameterDecorator {
  const rule = readArguments(given);
  const decorate = rule === undefined ? chargesOf() : chargeOf(rule);
  return parameterDecorator('@FreqLimitCharge', decorate, (target, handler) => {
    declareCharge(rule, target, handler);
  });
}

function readArguments(given: readonly unknown[]): string | undefined {
  const [rule] = given;
  if (given.length === 0 || (given.length === 1 && RULE_NAME.test(rule))) return rule as string | undefined;
  rejectWithoutParentheses('@FreqLimitCharge', "@FreqLimitCharge('tokens')", given);
  throw invalidRule(
    given.length > 1
      ? '@FreqLimitCharge: takes one name; write @FreqLimitCharge() for all rules'
      : `@FreqLimitCharge: ${formatForLog(rule)} is not ${RULE_NAME.expected}; write @FreqLimitCharge() for all rules`,
  );
}
