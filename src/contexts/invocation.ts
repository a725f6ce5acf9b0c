import type { ExecutionContext } from '@nestjs/common';
import { resolverCallOf } from './graphql-context.js';
import { messageOf } from './ws-context.js';

/**
 * What one invocation of a handler has to itself among its arguments. Guards, interceptors and parameter decorators get
 * contexts of their own, and meet in this object.
 */
export function invocationOf(context: ExecutionContext): object {
  switch (context.getType<string>()) {
    case 'graphql':
      return resolverCallOf(context);
    case 'ws':
      return messageOf(context) as object;
    case 'rpc':
      return context.getArgByIndex<object | undefined>(1) ?? context.getArgs<object[]>();
    default:
      return firstObject(context.getArgs<unknown[]>());
  }
}

function firstObject(args: readonly unknown[]): object {
  return args.find((arg) => typeof arg === 'object' && arg !== null) ?? args;
}
