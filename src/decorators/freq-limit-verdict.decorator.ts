import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { invalidRule } from '../core/errors.js';
import { UNLIMITED, type Verdict } from '../core/verdict.js';
import { findDecision } from '../decisions/decisions.js';
import { declareVerdict } from '../rules/metadata.js';
import { rejectWithoutParentheses } from './decorated-place.js';
import { parameterDecorator } from './parameter-decorator.js';

const verdictOf = createParamDecorator<unknown, Verdict>((_, context: ExecutionContext) => {
  return findDecision(context)?.verdict ?? UNLIMITED;
});

/**
 * Passes the verdict of the request to a parameter of its handler: `list(@FreqLimitVerdict() { tightest }: Verdict)`. If no
 * rule applied, `results` is empty and `source` is `'none'`. Import `Verdict` by `import type`, or as `type Verdict`.
 */
export function FreqLimitVerdict(): ParameterDecorator;
export function FreqLimitVerdict(...given: readonly unknown[]): ParameterDecorator {
  rejectArguments(given);
  return parameterDecorator('@FreqLimitVerdict', verdictOf(), declareVerdict);
}

function rejectArguments(given: readonly unknown[]): void {
  if (given.length === 0) return;
  rejectWithoutParentheses('@FreqLimitVerdict', '@FreqLimitVerdict()', given);
  throw invalidRule(
    '@FreqLimitVerdict: takes no arguments; to get a part of the verdict, write (@FreqLimitVerdict() { tightest }: Verdict)',
  );
}
