import { methodAt } from './methods.js';

/** A class with decorators. */
export type ClassRef = abstract new (...args: never[]) => unknown;

/** A class and its parents, the farthest first. Includes a class that a class decorator has replaced with a proxy. */
export function classAndParents(classRef: ClassRef): ClassRef[] {
  const found: ClassRef[] = [];
  for (let at: unknown = classRef; isClass(at); at = Object.getPrototypeOf(at)) {
    found.unshift(at);
    const inner = constructorOf(at);
    if (inner !== undefined && inner !== at && inner.prototype === at.prototype) found.unshift(inner);
  }
  return found;
}

/** The `constructor` of a class's instances: another class for a proxy, or if a mixin has copied `constructor`. */
export function constructorOf(classRef: ClassRef): ClassRef | undefined {
  const prototype: unknown = classRef.prototype;
  if (typeof prototype !== 'object' || prototype === null) return undefined;
  return methodAt(prototype, 'constructor') as ClassRef | undefined;
}

function isClass(value: unknown): value is ClassRef {
  return typeof value === 'function' && value !== Function.prototype;
}
