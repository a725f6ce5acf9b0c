import { invalidRule } from '../core/errors.js';
import { markMethod } from '../rules/metadata.js';
import { placeIn, wrongPlace } from './decorated-place.js';

/**
 * Makes a decorator for classes and methods.
 * @returns a decorator that throws a `FreqLimitError` with `FREQ_LIMIT_INVALID_RULE` anywhere else
 */
export function classOrMethodDecorator(
  name: string,
  declare: (target: object, handler: string | undefined) => void,
): ClassDecorator & MethodDecorator {
  return (target: object, handler?: string | symbol, descriptor?: { readonly value?: unknown }) => {
    const place = [target, handler, descriptor] as const;
    const problem = wrongPlace(place);
    if (problem !== undefined) throw invalidRule(`${name} on ${placeIn(place)}: ${problem}`);
    // now it is undefined for a class, and a string for a method
    const method = handler as string | undefined;
    declare(target, method);
    if (method !== undefined) markMethod(descriptor?.value as object, target, method);
  };
}
