import 'reflect-metadata';
import type { HandlerTraits, Level } from './plan.js';
import type { FreqLimitRule } from './rule.js';

// Texts and not symbols, so that decorators of one copy of this package are seen by the module of another. What is kept
// under them is a contract between versions: a module that does not see a limit does not hold it.
const RULES = 'nestjs-freq-limit:rules';
const SKIP = 'nestjs-freq-limit:skip';
const HANDLERS = 'nestjs-freq-limit:handlers';
const VERDICT = 'nestjs-freq-limit:verdict';
/** Where Nest keeps what `@Redirect()` says of a handler. */
const REDIRECT = '__redirect__';

// What a decorator on a handler says is kept on the class's prototype under the handler's name, not on the function:
// another decorator may put a function of its own in its place, and the limit must not be lost with the first one.
// All is kept as the class's own: a subclass reads its parent's, and never writes into it.

type Target = object;

/** What one decorator said, and when it was written down. */
interface Declared<T> {
  readonly order: number;
  readonly value: T;
  /** The entry of `namedRules` that it refers to. */
  readonly named?: string | undefined;
}

let written = 0;

/**
 * The place of a decorator among all. Taken when it is written down, not when it is applied: stacked decorators are
 * applied from the last one written to the first, those of `applyDecorators` from the first to the last.
 */
export function nextOrder(): number {
  return ++written;
}

/** Notes a rule. */
export function declareRule(
  rule: FreqLimitRule,
  order: number,
  target: Target,
  handler: string | undefined,
): void {
  add(RULES, { order, value: rule }, target, handler);
}

/** Notes a reference to an entry of `namedRules`, and what it changes of it. */
export function declareReference(
  { named, changes }: { readonly named: string; readonly changes: unknown },
  order: number,
  target: Target,
  handler: string | undefined,
): void {
  add(RULES, { order, value: changes, named }, target, handler);
}

/** Notes names to skip; none means all. */
export function declareSkip(names: readonly string[], target: Target, handler: string | undefined): void {
  add(SKIP, { order: 0, value: names }, target, handler);
}

/** Notes that a handler asks for its verdict. */
export function declareVerdict(target: Target, handler: string): void {
  define(VERDICT, true, target, handler);
}

/** What decorators of a handler say beside its rules; it asks for its verdict too where the one that it overrides does. */
export function traitsOf(classRef: ClassRef, handler: string): HandlerTraits {
  const prototype = classRef.prototype as Readonly<Record<string, object | undefined>>;
  const method = prototype[handler];
  return {
    wantsVerdict: Reflect.hasMetadata(VERDICT, prototype, handler),
    redirects: method !== undefined && Reflect.hasMetadata(REDIRECT, method),
  };
}

function add(key: string, item: Declared<unknown>, target: Target, handler: string | undefined): void {
  const items = [...(own(key, target, handler) as readonly Declared<unknown>[]), item].sort(
    (a, b) => a.order - b.order,
  );
  define(key, items, target, handler);
  if (handler === undefined) return;
  const handlers = new Set([...own(HANDLERS, target, undefined), handler]);
  define(HANDLERS, [...handlers], target, undefined);
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
  return (value as readonly unknown[] | undefined) ?? [];
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

/** The names of a class's methods, its parents' included; accessors are not run to find out. */
export function methodNames(classRef: ClassRef): string[] {
  const names = new Set<string>();
  for (
    let at: unknown = classRef.prototype;
    isObject(at) && at !== Object.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name !== 'constructor' && typeof value === 'function') names.add(name);
    }
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
  const rules = own(RULES, target, handler) as readonly Declared<FreqLimitRule>[];
  const skips = (own(SKIP, target, handler) as readonly Declared<readonly string[]>[]).map(
    ({ value }) => value,
  );
  const names = skips.some((one) => one.length === 0) ? [] : skips.flat();
  return {
    rules: rules.map(({ value, named }) => ({ rule: value, named, level, place })),
    skip: skips.length === 0 ? undefined : { names, place: `@SkipFreqLimit on ${where}` },
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
