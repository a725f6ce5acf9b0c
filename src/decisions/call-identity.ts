import type { ExecutionContext } from '@nestjs/common';
import { contextKindOf } from '../contexts/context-kind.js';

/**
 * An object that identifies one call of a handler. Guards, interceptors and parameter decorators get different contexts for
 * it, but find the same object. If no argument belongs to the call alone, it is the array of arguments: guards and
 * interceptors get the same one, parameter decorators a copy.
 */
export function callIdentityOf(context: ExecutionContext): object {
  const own = ownArgumentOf(context);
  if (own !== undefined) return own;
  // Nest's own GraphQL context returns a field's arguments here, which may be undefined
  const args: unknown = context.getArgs();
  return typeof args === 'object' && args !== null ? args : context;
}

/** An argument that no other call has, if there is one. */
export function ownArgumentOf(context: ExecutionContext): object | undefined {
  const own = contextKindOf(context).ownArgument(context);
  return typeof own === 'object' || typeof own === 'function' ? (own ?? undefined) : undefined;
}
