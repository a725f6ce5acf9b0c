import { markMethod } from '../rules/metadata.js';

/** A decorator for classes and their methods, which refuses to stand anywhere else. */
export function decorate(
  name: string,
  declare: (target: object, handler: string | undefined) => void,
): ClassDecorator & MethodDecorator {
  return (target: object, handler?: string | symbol, descriptor?: { readonly value?: unknown }) => {
    const isClass = handler === undefined && typeof target === 'function';
    const isMethod =
      typeof handler === 'string' && typeof target === 'object' && typeof descriptor?.value === 'function';
    if (!isClass && !isMethod) {
      const owner = typeof target === 'function' ? target.name : target.constructor.name;
      throw new TypeError(`${name} stands on a class or on a method; ${owner}.${String(handler)} is neither`);
    }
    declare(target, handler);
    if (isMethod) markMethod(descriptor.value, target, handler);
  };
}
