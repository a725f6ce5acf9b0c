import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { UNLIMITED, type Verdict } from '../core/verdict.js';
import { findDecision } from '../decisions/decisions.js';
import { declareVerdict } from '../rules/metadata.js';

const verdictOf = createParamDecorator<unknown, Verdict>((_, context: ExecutionContext) => {
  return findDecision(context)?.verdict ?? UNLIMITED;
});

/**
 * Gives a handler the verdict by which it was let in: `{ allowed: true, results, tightest, source }`. Where no rule
 * applied `results` is empty and `source` is `'none'`.
 *
 * @example
 * ```ts
 * @Get()
 * list(@FreqLimitVerdict() { tightest }: Verdict) {}
 * ```
 */
export function FreqLimitVerdict(): ParameterDecorator {
  const decorate = verdictOf();
  return (target, handler, index) => {
    if (typeof handler !== 'string') {
      throw new TypeError('@FreqLimitVerdict() stands on a parameter of a handler');
    }
    declareVerdict(target, handler);
    decorate(target, handler, index);
  };
}
