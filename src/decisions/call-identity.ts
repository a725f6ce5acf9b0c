import type { ExecutionContext } from '@nestjs/common';
import { resolverCallOf } from '../contexts/graphql-context.js';
import { messageOf } from '../contexts/ws-context.js';

/**
 * What one invocation of a handler has to itself: guards, interceptors and parameter decorators get contexts of their
 * own, and meet in this object. Where its arguments hold none, it is the list of them, which Nest hands to guards and
 * interceptors alike; parameter decorators get a copy.
 */
export function callIdentityOf(context: ExecutionContext): object {
  const own = ownObjectOf(context);
  if (own !== undefined) return own;
  // Nest's context for GraphQL returns a field's arguments here, and there may be none
  const args: unknown = context.getArgs();
  return typeof args === 'object' && args !== null ? args : context;
}

/** An argument that no other invocation has, where there is one. */
export function ownObjectOf(context: ExecutionContext): object | undefined {
  const own = argumentOf(context);
  return typeof own === 'object' || typeof own === 'function' ? (own ?? undefined) : undefined;
}

function argumentOf(context: ExecutionContext): unknown {
  switch (context.getType<string>()) {
    case 'http':
      return context.getArgByIndex<unknown>(0);
    case 'graphql':
      return resolverCallOf(context);
    case 'ws':
      return messageOf(context);
    case 'rpc':
      return context.getArgByIndex<unknown>(1);
    default:
      // whatever is there may be in other invocations too
      return undefined;
  }
}
