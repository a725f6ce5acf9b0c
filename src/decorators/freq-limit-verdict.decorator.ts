import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { invalidRule } from '../core/errors.js';
import { UNLIMITED, type Verdict } from '../core/verdict.js';
import { findDecision } from '../decisions/decisions.js';
import { declareVerdict } from '../rules/metadata.js';

const verdictOf = createParamDecorator<unknown, Verdict>((_, context: ExecutionContext) => {
  return findDecision(context)?.verdict ?? UNLIMITED;
});

/**
 * Passes the verdict of the request to a parameter of its handler: `list(@FreqLimitVerdict() { tightest }: Verdict)`. If no
 * rule applied, `results` is empty and `source` is `'none'`. Import `Verdict` by `import type`, or as `type Verdict`.
 */
export function FreqLimitVerdict(): ParameterDecorator {
  const decorate = verdictOf();
  return (target, handler, index) => {
    if (typeof handler !== 'string')
      throw invalidRule('@FreqLimitVerdict() must be on a parameter of a handler');
    declareVerdict(target, handler);
    decorate(target, handler, index);
  };
}
