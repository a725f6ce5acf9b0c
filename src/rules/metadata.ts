import 'reflect-metadata';
import type { DeclaredRule } from './planned-rule.js';
import type { Level } from './plan.js';
import type { FreqLimitRule } from './rule.js';

// Texts and not symbols, so that decorators of one copy of this package are seen by the module of another.
const RULES = 'nestjs-freq-limit:rules';
const SKIP = 'nestjs-freq-limit:skip';
const HANDLERS = 'nestjs-freq-limit:handlers';

// What a decorator on a handler says is kept on the class's prototype under the handler's name, not on the function:
// another decorator may put a function of its own in its place, and the limit must not be lost with the first one.
// All is kept as the class's own: a subclass reads its parent's, and never writes into it.

type Target = object;

/** Puts a rule before those that stand there already: decorators run from the last one written to the first. */
export function declareRule(rule: FreqLimitRule, target: Target, handler: string | undefined): void {
  prepend(RULES, [rule], target, handler);
}

/** Notes names to skip; none means all. */
export function declareSkip(names: readonly string[], target: Target, handler: string | undefined): void {
  prepend(SKIP, [names], target, handler);
}

function prepend(key: string, items: readonly unknown[], target: Target, handler: string | undefined): void {
  define(key, [...items, ...own(key, target, handler)], target, handler);
  if (handler !== undefined)
    define(HANDLERS, [...new Set([...own(HANDLERS, target, undefined), handler])], target, undefined);
}

function define(key: string, value: unknown, target: Target, handler: string | undefined): void {
  if (handler === undefined) Reflect.defineMetadata(key, value, target);
  else Reflect.defineMetadata(key, value, target, handler);
}

function own(key: string, target: Target, handler: string | undefined): readonly unknown[] {
  const value: unknown =
    handler === undefined
      ? Reflect.getOwnMetadata(key, target)
      : Reflect.getOwnMetadata(key, target, handler);
  return Array.isArray(value) ? value : [];
}

/** A class, as far as its decorators are concerned. */
export type ClassRef = abstract new (...args: never[]) => unknown;

/** What the decorators of a class and of its parents say, a level each, the farthest parent first. */
export function classLevels(classRef: ClassRef): Level[] {
  const levels: Level[] = [];
  for (
    let at: unknown = classRef;
    typeof at === 'function' && at !== Function.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    levels.unshift(levelOf(at, undefined, 'controller', at.name));
  }
  return levels;
}

/**
 * What the decorators of a handler say. Like Nest's own, they belong to the method they stand on: a subclass that
 * overrides it says anew what it wants, one that does not inherits them with the method.
 */
export function handlerLevel(classRef: ClassRef, handler: string): Level {
  const owner = ownerOf(classRef, handler);
  return levelOf(owner, handler, 'handler', `${classRef.name}.${handler}`);
}

/** The handlers of a class that carry a decorator of ours, its parents' included. */
export function decoratedHandlers(classRef: ClassRef): string[] {
  const names = new Set<string>();
  for (let at: unknown = classRef.prototype; isObject(at); at = Object.getPrototypeOf(at)) {
    for (const name of own(HANDLERS, at, undefined)) names.add(name as string);
  }
  return [...names];
}

function ownerOf(classRef: ClassRef, handler: string): object {
  for (let at: unknown = classRef.prototype; isObject(at); at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, handler)) return at;
  }
  return classRef.prototype as object;
}

function levelOf(
  target: Target,
  handler: string | undefined,
  level: 'controller' | 'handler',
  where: string,
): Level {
  const place = `@FreqLimit on ${where}`;
  const rules = own(RULES, target, handler).map((rule): DeclaredRule => ({
    rule: rule as FreqLimitRule,
    level,
    place,
  }));
  const skips = own(SKIP, target, handler) as readonly (readonly string[])[];
  const names = skips.some((one) => one.length === 0) ? [] : skips.flat();
  return { rules, skip: skips.length === 0 ? undefined : { names, place: `@SkipFreqLimit on ${where}` } };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
