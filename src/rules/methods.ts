import { cachedInTurn } from './turn-cache.js';

/** The current function of a method; accessors are not run. */
export function methodAt(target: object, name: string): object | undefined {
  const value: unknown = Object.getOwnPropertyDescriptor(ownerOf(target, name), name)?.value;
  return typeof value === 'function' ? value : undefined;
}

/** The prototype that has a property: the given one, or the nearest parent with it. */
export function ownerOf(prototype: object, name: string): object {
  for (let at: unknown = prototype; isObject(at); at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, name)) return at;
  }
  return prototype;
}

/** The names of a prototype's methods, including those of its parents. */
export function methodNames(prototype: unknown): string[] {
  return [...methodsOf(prototype).keys()];
}

/** All names under which a class has the function of a method. A guard cannot tell by which of them it was called. */
export function namesOfMethod(prototype: object, name: string): readonly string[] {
  const method = methodsOf(prototype).get(name);
  return (method && namesByMethod(prototype).get(method)) ?? [name];
}

const methodsOf = cachedInTurn(readMethods);

const namesByMethod = cachedInTurn((prototype: unknown): ReadonlyMap<object, readonly string[]> => {
  const names = new Map<object, string[]>();
  for (const [name, method] of methodsOf(prototype)) {
    const same = names.get(method);
    if (same === undefined) names.set(method, [name]);
    else same.push(name);
  }
  return names;
});

/** Methods by name; accessors are not run. */
function readMethods(prototype: unknown): ReadonlyMap<string, object> {
  const methods = new Map<string, object>();
  for (let at = prototype; isObject(at) && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name === 'constructor' || typeof value !== 'function' || methods.has(name)) continue;
      methods.set(name, value as object);
    }
  }
  return methods;
}

/** Whether a value can be a prototype. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
