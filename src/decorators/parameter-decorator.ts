import { invalidRule } from '../core/errors.js';
import { type DecoratedPlace, placeIn } from './decorated-place.js';

/**
 * Makes a decorator for parameters of handlers.
 * @param declare called with the prototype of the class and the name of the handler
 * @returns a decorator that throws a `FreqLimitError` with `FREQ_LIMIT_INVALID_RULE` anywhere else
 */
export function parameterDecorator(
  name: string,
  decorate: ParameterDecorator,
  declare: (target: object, handler: string) => void,
): ParameterDecorator {
  return (target, handler, index) => {
    const place: DecoratedPlace = [target, handler, index];
    const problem = wrongParameter(place);
    if (problem !== undefined) throw invalidRule(`${name} on ${placeIn(place)}: ${problem}`);
    // checked above
    const method = handler as string;
    declare(target, method);
    decorate(target, method, index);
  };
}

/** Why the decorator cannot be there, and what to do; `undefined` if it can. */
function wrongParameter([target, handler, index]: DecoratedPlace): string | undefined {
  if (typeof index !== 'number') return 'this is not a parameter; write it before a parameter of a handler';
  if (handler === undefined)
    return 'a constructor gets no requests; write it before a parameter of a handler';
  if (typeof target === 'function') return 'no request calls a static method; remove static';
  return typeof handler === 'string' ? undefined : 'a handler needs a string as its name, not a symbol';
}
