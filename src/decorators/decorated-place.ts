import { formatForLog, invalidRule, oneLine } from '../core/errors.js';
import { isClass } from '../core/is-class.js';

/** The arguments of a decorator: a class or its prototype, the name of a member, its descriptor or the index of a parameter. */
export type DecoratedPlace = readonly unknown[];

const NEW_DECORATORS =
  'the decorators of this file are compiled to the newer standard, which Nest does not support; set "experimentalDecorators": true in tsconfig.json';

/** Why a decorator for classes and methods cannot be there, and what to do; `undefined` if it can. */
export function wrongPlace([target, member, third]: DecoratedPlace): string | undefined {
  if (isContext(member)) return NEW_DECORATORS;
  if (typeof third === 'number')
    return 'a parameter cannot have limits; move the decorator above the method or the class';
  if (member === undefined) {
    return isConstructor(target)
      ? undefined
      : 'this is not a class; write the decorator above a class or a method';
  }
  if (typeof target === 'function')
    return 'no request calls a static method; remove static, or limit another method';
  if (typeof member === 'symbol') return 'a handler with limits needs a string as its name, not a symbol';
  if (typeof target !== 'object' || target === null || typeof member !== 'string') {
    return 'this is not a method of a class';
  }
  return wrongMember(third);
}

/** Throws if a decorator got the arguments that it gets without parentheses. */
export function rejectWithoutParentheses(name: string, example: string, given: readonly unknown[]): void {
  if (!isDecoration(given)) return;
  throw invalidRule(`${name} on ${placeIn(given)}: the parentheses are missing; write ${example}`);
}

/** The place as messages show it. */
export function placeIn([target, member]: DecoratedPlace): string {
  if (isContext(member)) return textOf(member.name);
  if (target === undefined || target === null) return formatForLog(target);
  const owner: unknown = typeof target === 'function' ? target : target.constructor;
  // a prototype that was made by hand may have no constructor
  const name = typeof owner === 'function' && owner.name !== '' ? owner.name : 'a class';
  return oneLine(member === undefined ? name : `${name}.${textOf(member)}`);
}

/** The name of a member, which may be a symbol. */
function textOf(name: unknown): string {
  return typeof name === 'symbol' ? name.toString() : formatForLog(name).replace(/^"|"$/g, '');
}

function wrongMember(descriptor: unknown): string | undefined {
  const own = Object(descriptor) as PropertyDescriptor;
  if (typeof own.value === 'function') return undefined;
  if (own.get !== undefined || own.set !== undefined)
    return 'no request calls a getter or setter; write a method';
  return 'this is not a method; write a method, not a property with a function';
}

/** Whether these are the arguments of a decorator that is applied, and not those of the call that makes it. */
function isDecoration([target, member, third]: DecoratedPlace): boolean {
  if (isContext(member)) return true;
  if (member === undefined) return typeof third === 'number' || isClass(target);
  if (typeof member !== 'string' && typeof member !== 'symbol') return false;
  // a prototype, or a class with a static member
  return (
    isClass(target) || (typeof target === 'object' && target !== null && Object.hasOwn(target, 'constructor'))
  );
}

/** Whether a value can be a class: one that is compiled to ES5 is a function. */
function isConstructor(value: unknown): boolean {
  return typeof value === 'function' && Object.hasOwn(value, 'prototype');
}

/** What a decorator of the newer standard gets as its second argument. */
function isContext(
  value: unknown,
): value is { readonly kind: string; readonly name: string | symbol | undefined } {
  return typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value;
}
