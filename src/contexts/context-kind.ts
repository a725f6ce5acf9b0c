import type { ExecutionContext } from '@nestjs/common';
import { isFieldResolver, resolverCallOf } from './graphql-context.js';
import { messageOf } from './ws-context.js';

/** What this library knows about one kind of execution context. No option changes it. */
export interface ContextKind {
  /** Whether handlers answer HTTP requests: then the response tells how a request ended. */
  readonly isHttp: boolean;
  /** Whether several requests may be answered by one response, as the resolvers of a GraphQL operation are. */
  readonly sharesResponse: boolean;
  /** Whether an error that a handler returns is the same as one that it throws. */
  readonly failsByReturnedError: boolean;
  /** Whether the handler resolves a field of a result. Only rules on the handler itself apply there. */
  readonly isFieldResolver: (context: ExecutionContext) => boolean;
  /** An argument that only this call of the handler has; anything but an object or a function means that there is none. */
  readonly ownArgument: (context: ExecutionContext) => unknown;
}

const OTHER: ContextKind = {
  isHttp: false,
  sharesResponse: true,
  failsByReturnedError: false,
  isFieldResolver: () => false,
  // other calls may have any of the arguments too
  ownArgument: () => undefined,
};

const KINDS: ReadonlyMap<string, ContextKind> = new Map([
  [
    'http',
    { ...OTHER, isHttp: true, sharesResponse: false, ownArgument: (context) => context.getArgByIndex(0) },
  ],
  ['graphql', { ...OTHER, failsByReturnedError: true, isFieldResolver, ownArgument: resolverCallOf }],
  ['ws', { ...OTHER, ownArgument: messageOf }],
  ['rpc', { ...OTHER, ownArgument: (context) => context.getArgByIndex(1) }],
]);

/** The kind of a context, also where no adapter is at hand: in interceptors and parameter decorators. */
export function contextKindOf(context: ExecutionContext): ContextKind {
  return contextKindOfType(context.getType());
}

export function contextKindOfType(type: string): ContextKind {
  return KINDS.get(type) ?? OTHER;
}
