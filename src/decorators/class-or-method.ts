import { invalidRule } from '../core/errors.js';
import { markMethod } from '../rules/handler-places.js';

/**
 * Makes a decorator for classes and methods.
 * @returns a decorator that throws a `FreqLimitError` with `FREQ_LIMIT_INVALID_RULE` anywhere else
 */
export function classOrMethodDecorator(
  name: string,
  declare: (target: object, handler: string | undefined) => void,
): ClassDecorator & MethodDecorator {
  return (target: object, handler?: string | symbol, descriptor?: { readonly value?: unknown }) => {
    const isClass = handler === undefined && typeof target === 'function';
    const isMethod =
      typeof handler === 'string' && typeof target === 'object' && typeof descriptor?.value === 'function';
    if (!isClass && !isMethod) {
      const owner = typeof target === 'function' ? target.name : target.constructor.name;
      throw invalidRule(`${name} is for classes and methods; ${owner}.${String(handler)} is neither`);
    }
    declare(target, handler);
    if (isMethod) markMethod(descriptor.value, target, handler);
  };
}
