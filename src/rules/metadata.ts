import 'reflect-metadata';
import { methodAt } from './methods.js';
import type { AnyRule } from './rule.js';

// What our decorators declare, as metadata of the class or of its prototype. The keys are strings and not symbols, so that
// the module of one copy of this package sees the decorators of another. The stored values are a contract between versions: a
// module that does not see a limit does not enforce it.
//
// What a decorator on a handler declares is stored on the class's prototype under the handler's name, not on the function:
// another decorator may replace the function, and the limit must not be lost with it. The function only has marks, the
// places of its declarations. Everything is stored on the class itself: a subclass reads it and never writes into it.
const RULES = 'nestjs-freq-limit:rules';
const SKIP = 'nestjs-freq-limit:skip';
const HANDLERS = 'nestjs-freq-limit:handlers';
const VERDICT = 'nestjs-freq-limit:verdict';
const CHARGES = 'nestjs-freq-limit:charges';
const DECLARED_AT = 'nestjs-freq-limit:declared-at';

type Target = object;

/** What one decorator declares, and its position among all decorators. */
export interface Declaration<T> {
  readonly order: number;
  readonly value: T;
  /** The entry of `namedRules` that it refers to; `value` is then what the reference changes. */
  readonly named?: string | undefined;
}

/** Where decorators of a handler are: a prototype, and the name of a method. */
export interface HandlerPlace {
  readonly target: object;
  readonly handler: string;
}

let written = 0;

/**
 * The position of a decorator among all. Taken when the decorator is written, not when it is applied: stacked decorators
 * are applied from the last to the first, those of `applyDecorators` from the first to the last.
 */
export function nextOrder(): number {
  return ++written;
}

/** Stores a rule. */
export function declareRule(rule: AnyRule, order: number, target: Target, handler: string | undefined): void {
  add(RULES, { order, value: rule }, target, handler);
}

/** Stores a reference to an entry of `namedRules`, and the changes to it. */
export function declareReference(
  { named, changes }: { readonly named: string; readonly changes: unknown },
  order: number,
  target: Target,
  handler: string | undefined,
): void {
  add(RULES, { order, value: changes, named }, target, handler);
}

/** Stores the names of rules to skip; no names: all rules. */
export function declareSkip(names: readonly string[], target: Target, handler: string | undefined): void {
  add(SKIP, { order: 0, value: names }, target, handler);
}

/** Stores that a handler has a parameter for its verdict. */
export function declareVerdict(target: Target, handler: string): void {
  define(VERDICT, true, target, handler);
  const method = methodAt(target, handler);
  if (method !== undefined) markMethod(method, target, handler);
}

/**
 * Stores that a handler has a parameter for its charges.
 * @param rule the name of the rule; `undefined` for all rules
 */
export function declareCharge(rule: string | undefined, target: Target, handler: string): void {
  define(CHARGES, [...ownMetadata(CHARGES, target, handler), rule], target, handler);
  const method = methodAt(target, handler);
  if (method !== undefined) markMethod(method, target, handler);
}

/** Marks a method's function with the place of its declarations. */
export function markMethod(method: object, target: Target, handler: string): void {
  // declared through a subclass, it applies to the subclass alone, and the function is the parent's
  if (handler in target && !Object.hasOwn(target, handler)) return;
  const known = marksOf(method);
  if (known.some((place) => isSamePlace(place, { target, handler }))) return;
  Reflect.defineMetadata(DECLARED_AT, [...known, { target, handler }], method);
}

/** The rules declared at one place. */
export function rulesAt(target: Target, handler?: string): readonly Declaration<AnyRule>[] {
  return ownMetadata(RULES, target, handler) as readonly Declaration<AnyRule>[];
}

/** The skips declared at one place. */
export function skipsAt(target: Target, handler?: string): readonly Declaration<readonly string[]>[] {
  return ownMetadata(SKIP, target, handler) as readonly Declaration<readonly string[]>[];
}

/** Whether a handler, or the one that it overrides, has a parameter for its verdict. */
export function hasVerdictAt({ target, handler }: HandlerPlace): boolean {
  return Reflect.hasMetadata(VERDICT, target, handler);
}

/** Whether a handler, or the one that it overrides, has a parameter for its charges. */
export function hasChargeAt({ target, handler }: HandlerPlace): boolean {
  return Reflect.hasMetadata(CHARGES, target, handler);
}

/** The names of rules in a handler's parameters for charges. */
export function chargedNamesAt({ target, handler }: HandlerPlace): readonly string[] {
  const names = ownMetadata(CHARGES, target, handler) as readonly (string | undefined)[];
  return names.filter((name) => name !== undefined);
}

/** The methods with a rule or a skip declared on this prototype. */
export function declaredNames(target: Target): readonly string[] {
  return ownMetadata(HANDLERS, target, undefined) as readonly string[];
}

/** The marks of a function, without those of functions that it inherits from. */
export function marksOf(method: object): readonly HandlerPlace[] {
  return ownMetadata(DECLARED_AT, method, undefined) as readonly HandlerPlace[];
}

/** Whether a function has metadata of decorators other than ours. */
export function hasOtherMetadata(method: object): boolean {
  return Reflect.getMetadataKeys(method).some((key) => key !== DECLARED_AT);
}

export function isSamePlace(a: HandlerPlace, b: HandlerPlace): boolean {
  return a.target === b.target && a.handler === b.handler;
}

function add(key: string, item: Declaration<unknown>, target: Target, handler: string | undefined): void {
  const items = [...(ownMetadata(key, target, handler) as readonly Declaration<unknown>[]), item];
  define(
    key,
    items.sort((a, b) => a.order - b.order),
    target,
    handler,
  );
  if (handler === undefined) return;
  const handlers = declaredNames(target);
  if (!handlers.includes(handler)) define(HANDLERS, [...handlers, handler], target, undefined);
}

function define(key: string, value: unknown, target: Target, handler: string | undefined): void {
  if (handler === undefined) Reflect.defineMetadata(key, value, target);
  else Reflect.defineMetadata(key, value, target, handler);
}

function ownMetadata(key: string, target: Target, handler: string | undefined): readonly unknown[] {
  const value: unknown =
    handler === undefined
      ? Reflect.getOwnMetadata(key, target)
      : Reflect.getOwnMetadata(key, target, handler);
  return (value as readonly unknown[] | undefined) ?? [];
}
