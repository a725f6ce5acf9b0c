import 'reflect-metadata';
import {
  type HandlerPlace,
  markMethod,
  methodAt,
  methodNames,
  namesOfMethod,
  ownPlacesOf,
  placesOf,
} from './handler-places.js';
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
// The function only carries where its declarations are, see handler-places.ts.
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
  const method = methodAt(target, handler);
  if (method !== undefined) markMethod(method, target, handler);
}

/** What decorators of a handler say beside its rules; it asks for its verdict too where the one that it overrides does. */
export function traitsOf(classRef: ClassRef, handler: string, isHandlerClass = NO_CLASS): HandlerTraits {
  const prototype = classRef.prototype as Readonly<Record<string, object | undefined>>;
  const method = prototype[handler];
  const places = [
    { target: prototype, handler },
    ...placesOf(prototype, handler, declaredNames, isHandlerClass),
  ];
  return {
    showsVerdict: places.some((place) => Reflect.hasMetadata(VERDICT, place.target, place.handler)),
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

/** Whether a prototype is that of a class whose handlers the application plans. */
export type IsHandlerClass = (prototype: object) => boolean;

const NO_CLASS: IsHandlerClass = () => false;

/** What the decorators of a class and of its parents say, a level each, the farthest parent first. */
export function classLevels(classRef: ClassRef): Level[] {
  const read = new LevelReader('controller');
  return selfAndParents(classRef).map((at) => read.level(at, undefined, at.name));
}

/** A class decorator may put a proxy in the place of a class, and what was said of the class is still meant. */
function selfAndParents(classRef: ClassRef): ClassRef[] {
  const found: ClassRef[] = [];
  for (let at: unknown = classRef; isClass(at); at = Object.getPrototypeOf(at)) {
    found.unshift(at);
    const inner = constructorOf(at);
    if (inner !== undefined && inner !== at && inner.prototype === at.prototype) found.unshift(inner);
  }
  return found;
}

/** What instances of a class say they are of: another class behind a proxy, and where a mixin has copied `constructor`. */
export function constructorOf(classRef: ClassRef): ClassRef | undefined {
  const prototype: unknown = classRef.prototype;
  const inner = isObject(prototype) ? methodAt(prototype, 'constructor') : undefined;
  return inner as ClassRef | undefined;
}

/**
 * What the decorators of a handler say, a level for each place, the farthest first. Like Nest's own, they belong to the
 * method they stand on: a subclass that overrides it says itself what it wants, one that does not inherits them with the
 * method. They also follow the method's function to other handlers that are made of it.
 * @param isHandlerClass tells a class that only lends its methods from one that has handlers of its own
 * @default isHandlerClass: all others only lend
 */
export function handlerLevels(classRef: ClassRef, handler: string, isHandlerClass = NO_CLASS): Level[] {
  const read = new LevelReader('handler');
  return placesOfHandler(classRef, handler, isHandlerClass)
    .map((place) => read.level(place.target, place.handler, nameOf(place, classRef)))
    .filter(({ rules, skip }) => rules.length > 0 || skip !== undefined);
}

/** `SmsController.send`, also where a parent has the method; a place of another class or method has its own name. */
function nameOf({ target, handler }: HandlerPlace, classRef: ClassRef): string {
  const isInherited =
    target === classRef.prototype ||
    Object.prototype.isPrototypeOf.call(target, classRef.prototype as object);
  return `${isInherited ? classRef.name : target.constructor.name}.${handler}`;
}

/** The places whose declarations a handler has. */
export function placesOfHandler(
  { prototype }: ClassRef,
  handler: string,
  isHandlerClass: IsHandlerClass,
): HandlerPlace[] {
  return placesOf(prototype as object, handler, declaredNames, isHandlerClass);
}

/** The methods of a class and of its parents on which a rule is written. */
export function ruledPlaces(classRef: ClassRef): HandlerPlace[] {
  const places: HandlerPlace[] = [];
  for (let at: unknown = classRef.prototype; isObject(at); at = Object.getPrototypeOf(at)) {
    const target = at;
    const names = declaredNames(target).filter((handler) => own(RULES, target, handler).length > 0);
    places.push(...names.map((handler) => ({ target, handler })));
  }
  return places;
}

/** A class and its parents, those on which a rule is written. */
export function ruledClasses(classRef: ClassRef): ClassRef[] {
  return selfAndParents(classRef).filter((one) => own(RULES, one, undefined).length > 0);
}

/** The handlers of a class that carry a decorator of ours, its parents' included. */
export function decoratedHandlers(classRef: ClassRef, isHandlerClass = NO_CLASS): string[] {
  return methodNames(classRef.prototype).filter(
    (name) => handlerLevels(classRef, name, isHandlerClass).length > 0,
  );
}

/** The methods of one prototype that were decorated there. */
function declaredNames(target: object): readonly string[] {
  return own(HANDLERS, target, undefined) as readonly string[];
}

/** Another name of a handler's function in its class, where other things are said of it. */
export function contradictionOf(classRef: ClassRef, handler: string): string | undefined {
  const prototype = classRef.prototype as object;
  const saidOf = (name: string): Set<unknown> => {
    const places = ownPlacesOf(prototype, name);
    const declared = places.flatMap(({ target }) => [
      ...own(RULES, target, name),
      ...own(SKIP, target, name),
    ]);
    return new Set(declared.map((one) => (one as Declared<unknown>).value));
  };
  const said = saidOf(handler);
  if (said.size === 0) return undefined;
  return namesOfMethod(prototype, handler).find((name) => {
    const other = saidOf(name);
    return other.size > 0 && (other.size !== said.size || [...other].some((one) => !said.has(one)));
  });
}

/** Reads levels that go together. A declaration that is met again, as where metadata was copied, is not two. */
class LevelReader {
  private readonly seen = new Set<unknown>();

  constructor(private readonly scope: 'controller' | 'handler') {}

  level(target: Target, handler: string | undefined, where: string): Level {
    const place = `@FreqLimit on ${where}`;
    const rules = this.fresh(own(RULES, target, handler) as readonly Declared<FreqLimitRule>[]);
    const skips = this.fresh(own(SKIP, target, handler) as readonly Declared<readonly string[]>[]);
    const names = skips.some(({ value }) => value.length === 0) ? [] : skips.flatMap(({ value }) => value);
    return {
      rules: rules.map(({ value, named }) => ({ rule: value, named, level: this.scope, place })),
      skip: skips.length === 0 ? undefined : { names, place: `@SkipFreqLimit on ${where}` },
    };
  }

  /** What a decorator says is an object of its own, however often it is written down. */
  private fresh<T>(items: readonly Declared<T>[]): Declared<T>[] {
    return items.filter(({ value }) => !this.seen.has(value) && this.seen.add(value));
  }
}

function isClass(value: unknown): value is ClassRef {
  return typeof value === 'function' && value !== Function.prototype;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
