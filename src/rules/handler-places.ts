import 'reflect-metadata';
import { declaredNames, type HandlerPlace, isSamePlace, marksOf } from './metadata.js';
import { isObject, methodAt, namesOfMethod, ownerOf } from './methods.js';
import { cachedInTurn } from './turn-cache.js';

// Nest stores what it knows of a handler on the handler's function. If another handler is made of that function (a wrapper
// that inherits from it or copies its metadata, a method copied to another class), it takes routes and guards along. Our
// declarations are on the class, under the method's name, and the function has marks of their places. By the marks a
// handler finds the declarations of the function that it was made of.

/** Where compilers, and libraries that make a handler of another one, store the types of a method's parameters. */
const PARAMETER_TYPES = 'design:paramtypes';

/** Whether a prototype is that of a class whose handlers the application plans. */
export type IsHandlerClass = (prototype: object) => boolean;

/**
 * The places whose declarations a handler has, the farthest first: those that its function was marked with, those of the
 * parent that has the method, and those declared through subclasses.
 */
export function placesOf(prototype: object, handler: string, isHandlerClass: IsHandlerClass): HandlerPlace[] {
  const method = methodAt(prototype, handler);
  const local = namesOfMethod(prototype, handler).flatMap((name) => ownPlacesOf(prototype, name));
  if (method === undefined) return local;
  const isLocal = (one: HandlerPlace): boolean => local.some((place) => isSamePlace(one, place));
  const inherited = inheritedMarksOf(method);
  const original = originalsOf(prototype, handler);
  // the usual case
  if (original.length === 0 && inherited.every(isLocal)) return local;
  const isDecoratedHere = marksOf(method).some(isLocal);
  const brought = inherited.filter((mark) => {
    // if several classes have decorated one function, each class has its own declarations only
    const isOfAnother = isDecoratedHere && methodAt(mark.target, mark.handler) === method;
    return !isOfAnother || !isHandlerClass(mark.target);
  });
  const originals = original.flatMap((name) => placesOf(prototype, name, isHandlerClass));
  const farther = [...originals, ...brought].filter((one) => !isLocal(one));
  return [...farther, ...local].filter(
    (one, i, all) => all.findIndex((other) => isSamePlace(one, other)) === i,
  );
}

/** The methods of a class that a function was made of, by the marks that it inherits or has copied. */
export function markedNames(method: object, prototype: object): string[] {
  const isOfClass = ({ target }: HandlerPlace): boolean =>
    target === prototype || Object.prototype.isPrototypeOf.call(target, prototype);
  return inheritedMarksOf(method)
    .filter(isOfClass)
    .map(({ handler }) => handler);
}

/** The places of a method's own decorators: the prototype that has it, then those of the subclasses down to this one. */
export function ownPlacesOf(prototype: object, handler: string): HandlerPlace[] {
  const places: HandlerPlace[] = [];
  for (let at: unknown = prototype; isObject(at); at = Object.getPrototypeOf(at)) {
    places.unshift({ target: at, handler });
    if (Object.hasOwn(at, handler)) return places;
  }
  return [{ target: prototype, handler }];
}

/**
 * The methods that a handler was made of without marks on its function. Libraries that do this copy the array of the
 * parameters' types, because pipes need it; compilers make an array for each method.
 */
function originalsOf(prototype: object, handler: string): string[] {
  const owner = ownerOf(prototype, handler);
  const types: unknown = Reflect.getOwnMetadata(PARAMETER_TYPES, owner, handler);
  if (types === undefined) return [];
  const { positions, byTypes } = decoratedMethodsOf(owner);
  const position = positions.get(handler) ?? -1;
  return (byTypes.get(types) ?? []).filter((name) => (positions.get(name) ?? -1) < position);
}

interface DecoratedMethods {
  /** The position of each property among all properties of the prototype. */
  readonly positions: ReadonlyMap<string, number>;
  /** The names of methods with a rule or a skip, by the array of their parameters' types. */
  readonly byTypes: ReadonlyMap<unknown, readonly string[]>;
}

/** Read once for all handlers of a class: a class may have many. */
const decoratedMethodsOf = cachedInTurn((owner: object): DecoratedMethods => {
  const positions = new Map(Object.getOwnPropertyNames(owner).map((name, position) => [name, position]));
  const byTypes = new Map<unknown, string[]>();
  for (const name of declaredNames(owner)) {
    if (!positions.has(name)) continue;
    const types: unknown = Reflect.getOwnMetadata(PARAMETER_TYPES, owner, name);
    const same = byTypes.get(types);
    if (same === undefined) byTypes.set(types, [name]);
    else same.push(name);
  }
  return { positions, byTypes };
});

/** The marks of a function and of the functions that it inherits from. */
function inheritedMarksOf(method: object): HandlerPlace[] {
  const marks: HandlerPlace[] = [];
  for (
    let at: unknown = method;
    typeof at === 'function' && at !== Function.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    marks.unshift(...marksOf(at));
  }
  return marks;
}
