import { markedNames } from '../rules/handler-places.js';
import { methodNames } from '../rules/methods.js';

/** A handler's function, as Nest passes it to guards. */
export type HandlerFunction = { readonly name: string } & object;

/** The function that a class or an instance has under a name. */
export function functionOf(owner: unknown, name: string): HandlerFunction | undefined {
  const value = (owner as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'function' ? value : undefined;
}

/** The name of the method that a function is, was made of, or has the name of; `undefined` if there is none. */
export function methodNameOf(handler: HandlerFunction, prototype: unknown): string | undefined {
  const names = methodNames(prototype);
  const unbound = handler.name.replace(/^bound /, '');
  return (
    names.find((one) => functionOf(prototype, one) === handler) ??
    markedNames(handler, prototype as object).find((one) => names.includes(one)) ??
    names.find((one) => one === unbound)
  );
}
