import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { invalidRule } from '../core/errors.js';
import { UNLIMITED, type Verdict } from '../core/verdict.js';
import { findDecision } from '../decisions/decisions.js';
import { declareVerdict } from '../rules/metadata.js';
import { type DecoratedPlace, placeIn, rejectWithoutParentheses } from './decorated-place.js';

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
  const decorate = verdictOf();
  return (target, handler, index) => {
    const place: DecoratedPlace = [target, handler, index];
    const problem = wrongParameter(place);
    if (problem !== undefined) throw invalidRule(`@FreqLimitVerdict on ${placeIn(place)}: ${problem}`);
    // checked above
    const name = handler as string;
    declareVerdict(target, name);
    decorate(target, name, index);
  };
}

function rejectArguments(given: readonly unknown[]): void {
  if (given.length === 0) return;
  rejectWithoutParentheses('@FreqLimitVerdict', '@FreqLimitVerdict()', given);
  throw invalidRule(
    '@FreqLimitVerdict: takes no arguments; to get a part of the verdict, write (@FreqLimitVerdict() { tightest }: Verdict)',
  );
}

/** Why the decorator cannot be there, and what to do; `undefined` if it can. */
function wrongParameter([target, handler, index]: DecoratedPlace): string | undefined {
  if (typeof index !== 'number') return 'this is not a parameter; write it before a parameter of a handler';
  if (handler === undefined)
    return 'a constructor gets no requests; write it before a parameter of a handler';
  if (typeof target === 'function') return 'no request calls a static method; remove static';
  return typeof handler === 'string' ? undefined : 'a handler needs a string as its name, not a symbol';
}
