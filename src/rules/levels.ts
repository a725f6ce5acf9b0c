import type { ChargedName } from './charged-names.js';
import { type ClassRef, classAndParents } from './class-ref.js';
import { type IsHandlerClass, ownPlacesOf, placesOf } from './handler-places.js';
import {
  chargedNamesAt,
  type Declaration,
  declaredNames,
  type HandlerPlace,
  hasChargeAt,
  hasVerdictAt,
  rulesAt,
  skipsAt,
} from './metadata.js';
import { isObject, methodNames, namesOfMethod } from './methods.js';
import type { Level } from './plan.js';

const NO_CLASS: IsHandlerClass = () => false;

/** The declarations on a class and on its parents, a level for each, the farthest parent first. */
export function classLevels(classRef: ClassRef): Level[] {
  const reader = new LevelReader('controller');
  return classAndParents(classRef).map((at) => reader.level(at, undefined, at.name));
}

/**
 * The declarations on a handler, a level for each place, the farthest first. Like those of Nest's decorators, they belong
 * to the method: a subclass that overrides it has its own, one that does not inherits them with the method. They also
 * follow the method's function to other handlers that are made of it.
 * @param isHandlerClass tells a class that only lends its methods from one with handlers of its own
 * @default isHandlerClass: all other classes only lend
 */
export function handlerLevels(classRef: ClassRef, handler: string, isHandlerClass = NO_CLASS): Level[] {
  const reader = new LevelReader('handler');
  return placesOfHandler(classRef, handler, isHandlerClass)
    .map((place) => reader.level(place.target, place.handler, nameOf(place, classRef)))
    .filter(({ rules, skip }) => rules.length > 0 || skip !== undefined);
}

/** The places whose declarations a handler has. */
export function placesOfHandler(
  { prototype }: ClassRef,
  handler: string,
  isHandlerClass: IsHandlerClass,
): HandlerPlace[] {
  return placesOf(prototype as object, handler, isHandlerClass);
}

/** Whether a handler has a parameter for its verdict. */
export function showsVerdict(
  { prototype }: ClassRef,
  handler: string,
  isHandlerClass: IsHandlerClass = NO_CLASS,
): boolean {
  const target = prototype as object;
  return [{ target, handler }, ...placesOf(target, handler, isHandlerClass)].some(hasVerdictAt);
}

/** Whether a handler has a parameter for its charges. */
export function showsCharges(
  { prototype }: ClassRef,
  handler: string,
  isHandlerClass: IsHandlerClass = NO_CLASS,
): boolean {
  const target = prototype as object;
  return [{ target, handler }, ...placesOf(target, handler, isHandlerClass)].some(hasChargeAt);
}

/** The names of rules in a handler's parameters for charges. A method that overrides another has its own. */
export function chargedNames(
  classRef: ClassRef,
  handler: string,
  isHandlerClass: IsHandlerClass = NO_CLASS,
): ChargedName[] {
  return placesOfHandler(classRef, handler, isHandlerClass).flatMap((one) => {
    const place = `@FreqLimitCharge on ${nameOf(one, classRef)}`;
    return chargedNamesAt(one).map((name) => ({ name, place }));
  });
}

/** The methods of a class and of its parents that have a rule of their own. */
export function placesWithRules(classRef: ClassRef): HandlerPlace[] {
  const places: HandlerPlace[] = [];
  for (let at: unknown = classRef.prototype; isObject(at); at = Object.getPrototypeOf(at)) {
    const target = at;
    const names = declaredNames(target).filter((handler) => rulesAt(target, handler).length > 0);
    places.push(...names.map((handler) => ({ target, handler })));
  }
  return places;
}

/** Those of a class and its parents that have a rule of their own. */
export function classesWithRules(classRef: ClassRef): ClassRef[] {
  return classAndParents(classRef).filter((one) => rulesAt(one).length > 0);
}

/** The handlers of a class with a rule or a skip, including those that it inherits. */
export function decoratedHandlers(classRef: ClassRef, isHandlerClass = NO_CLASS): string[] {
  return methodNames(classRef.prototype).filter(
    (name) => handlerLevels(classRef, name, isHandlerClass).length > 0,
  );
}

/** Another name of a handler's function in its class that has other declarations. */
export function contradictionOf(classRef: ClassRef, handler: string): string | undefined {
  const prototype = classRef.prototype as object;
  const declared = declaredAs(prototype, handler);
  if (declared.size === 0) return undefined;
  return namesOfMethod(prototype, handler).find((name) => {
    const other = declaredAs(prototype, name);
    return (
      other.size > 0 && (other.size !== declared.size || [...other].some((value) => !declared.has(value)))
    );
  });
}

/** All that is declared on a method under one of its names. */
function declaredAs(prototype: object, name: string): Set<unknown> {
  const all = ownPlacesOf(prototype, name).flatMap(({ target }): Declaration<unknown>[] => [
    ...rulesAt(target, name),
    ...skipsAt(target, name),
  ]);
  return new Set(all.map(({ value }) => value));
}

/** `SmsController.send`, also if a parent has the method; a place of an unrelated class has that class's name. */
function nameOf({ target, handler }: HandlerPlace, classRef: ClassRef): string {
  const isInherited =
    target === classRef.prototype ||
    Object.prototype.isPrototypeOf.call(target, classRef.prototype as object);
  return `${isInherited ? classRef.name : target.constructor.name}.${handler}`;
}

/** Reads the levels of one class or handler. A declaration that is found twice, because metadata was copied, counts once. */
class LevelReader {
  private readonly seen = new Set<unknown>();

  constructor(private readonly scope: 'controller' | 'handler') {}

  level(target: object, handler: string | undefined, where: string): Level {
    const place = `@FreqLimit on ${where}`;
    const rules = this.unseen(rulesAt(target, handler));
    const skips = this.unseen(skipsAt(target, handler));
    const names = skips.some(({ value }) => value.length === 0) ? [] : skips.flatMap(({ value }) => value);
    return {
      rules: rules.map(({ value, named }) => ({ rule: value, named, level: this.scope, place })),
      skip: skips.length === 0 ? undefined : { names, place: `@SkipFreqLimit on ${where}` },
    };
  }

  /** Each decorator stores an object of its own, so a declaration is recognized by it. */
  private unseen<T>(items: readonly Declaration<T>[]): Declaration<T>[] {
    return items.filter(({ value }) => !this.seen.has(value) && this.seen.add(value));
  }
}
