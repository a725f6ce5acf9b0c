import { type ExecutionContext, IntrinsicException } from '@nestjs/common';
import type { ClientRequest } from '../core/request.js';
import type { IncomingMessage } from 'node:http';
import type { ContextAdapter } from './context-adapter.js';
import type { Handshakes } from './handshakes.js';
import { type PlatformRequest, requestUser } from './http-context.js';
import { errorPayloadOf } from './error-payload.js';

/** The parts of an operation's context that are used here, as Apollo, Mercurius and graphql-ws set them. */
interface GraphqlContext {
  /** The request; for a subscription over graphql-ws, the library's own object for the connection. */
  readonly req?: ClientRequest & { readonly res?: unknown; readonly extra?: SubscriptionConnection };
  readonly request?: ClientRequest;
  readonly res?: unknown;
  readonly reply?: { readonly request?: ClientRequest };
  readonly extra?: SubscriptionConnection;
  readonly user?: unknown;
}

interface SubscriptionConnection {
  readonly request?: ClientRequest;
  readonly user?: unknown;
}

/** The part of graphql-js's `GraphQLResolveInfo` that distinguishes a field of the operation from a field of its results. */
interface ResolveInfo {
  readonly fieldName?: unknown;
  readonly parentType?: unknown;
  readonly schema?: Readonly<
    Record<'getQueryType' | 'getMutationType' | 'getSubscriptionType', () => unknown>
  >;
}

/**
 * Resolvers: each call is a request, also if one operation calls several. The client's HTTP request is found through the
 * operation's context. `{body.…}` reads the resolver's arguments. Headers are set if the context has a response.
 */
export function graphqlContext(handshakes: Handshakes): ContextAdapter {
  return {
    request: (context) => {
      const operation = operationOf(context);
      const request = requestOf(operation, handshakes);
      return new ResolverRequest(request, userOf(operation), inputOf(context));
    },
    response: (context) => {
      const { req, res, reply } = operationOf(context);
      return [res, reply, req?.res].find(isResponse);
    },
    toError: (exception) => {
      const { code, message, retryAfter } = errorPayloadOf(exception);
      const extensions = { code, ...(retryAfter !== undefined && { retryAfter }) };
      return Object.assign(new GraphqlGuardError(message, { cause: exception }), { extensions });
    },
  };
}

/**
 * Not an HTTP exception, because Apollo's driver turns these into internal errors. Drivers show the `extensions` of any
 * error, and Nest does not log errors of this class.
 */
class GraphqlGuardError extends IntrinsicException {}

/**
 * Whether a handler is called for something other than a field of the query, mutation or subscription type: for a field of
 * a result, a federation entity, or the type of a value (`__resolveType`, `__isTypeOf`). Guards run there only if the
 * application's `fieldResolverEnhancers` enables them, and then for each item of a list. Only rules on the handler apply.
 */
export function isFieldResolver(context: ExecutionContext): boolean {
  if (isCalledWithValue(context)) return true;
  const { parentType, schema } = infoOf(context);
  if (parentType === undefined || typeof schema?.getQueryType !== 'function') return false;
  return ![schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].includes(
    parentType,
  );
}

/** An object that belongs to one call of a field's resolver. `undefined` for handlers that are called with a value. */
export function resolverCallOf(context: ExecutionContext): unknown {
  return isCalledWithValue(context) ? undefined : context.getArgByIndex<unknown>(placeOfContext(context) + 1);
}

/**
 * Whether a handler gets a value to resolve instead of a field's arguments: `(value, context, info)` for a federation entity
 * and for `__isTypeOf`, `(value, context, info, type)` for `__resolveType`. For an entity, Mercurius passes
 * `(value, {}, context, info)`, and Nest's `GqlExecutionContext` has `undefined` instead of the arguments.
 */
function isCalledWithValue(context: ExecutionContext): boolean {
  if (placeOfContext(context) === 1 || context.getArgByIndex<unknown>(4) !== undefined) return true;
  const { fieldName, schema } = infoOf(context);
  if (schema === undefined) return isShort(context.getArgs());
  return fieldName === '_entities' && !('representations' in argsOf(context));
}

/** Whether a call without information on its field has too few parameters to include arguments. */
function isShort(args: unknown): boolean {
  return Array.isArray(args) && args.length < 4;
}

/** The index of the context: 2 for fields `(root, args, context, info)`, 1 if there are no arguments. */
function placeOfContext(context: ExecutionContext): 1 | 2 {
  // a client's arguments are never used as the context
  return isInfo(context.getArgByIndex(2)) && !isInfo(context.getArgByIndex(3)) ? 1 : 2;
}

function isInfo(argument: unknown): boolean {
  const { parentType, schema } = Object(argument) as ResolveInfo;
  return parentType !== undefined && typeof schema?.getQueryType === 'function';
}

function infoOf(context: ExecutionContext): ResolveInfo {
  return Object(context.getArgByIndex<unknown>(placeOfContext(context) + 1)) as ResolveInfo;
}

function operationOf(context: ExecutionContext): GraphqlContext {
  return context.getArgByIndex<GraphqlContext | undefined>(placeOfContext(context)) ?? {};
}

function argsOf(context: ExecutionContext): object {
  return Object(context.getArgByIndex<unknown>(1)) as object;
}

/** The values that `{body.…}` reads: the field's arguments, or the value to resolve. */
function inputOf(context: ExecutionContext): unknown {
  return context.getArgByIndex<unknown>(isCalledWithValue(context) ? 0 : 1);
}

/** Mercurius's reply comes before `req`: a context that is one object for all operations keeps the first operation's `req`. */
function requestOf(operation: GraphqlContext, handshakes: Handshakes): ClientRequest | undefined {
  const { req, request, reply } = operation;
  const found = connectionOf(operation)?.request ?? reply?.request ?? req ?? request;
  return isOfNode(found) ? handshakes.ofRequest(found) : found;
}

/** The user that a guard has set on the operation's context, its request or the connection. */
function userOf(operation: GraphqlContext): unknown {
  const connection = connectionOf(operation);
  return operation.user ?? operation.req?.user ?? connection?.user ?? connection?.request?.user;
}

function connectionOf({ req, extra }: GraphqlContext): SubscriptionConnection | undefined {
  return req?.extra ?? extra;
}

/** Whether it is a request of Node that no platform has handled, such as one that opened a connection. */
function isOfNode(request: unknown): request is IncomingMessage {
  if (typeof request !== 'object' || request === null || 'ip' in request) return false;
  const { url, headers, socket } = request as Partial<IncomingMessage>;
  return typeof url === 'string' && typeof headers === 'object' && typeof socket === 'object';
}

/** Whether it is a response of Express or Fastify. A GraphQL context may contain anything under these names. */
export function isResponse(response: unknown): response is object {
  return typeof (Object(response) as { readonly header?: unknown }).header === 'function';
}

/** The operation's request, with the resolver's arguments instead of its body. */
class ResolverRequest implements ClientRequest {
  constructor(
    private readonly request: PlatformRequest | undefined,
    private readonly operationUser: unknown,
    readonly body: unknown,
  ) {}

  get ip(): unknown {
    return this.request?.ip;
  }

  get raw(): unknown {
    return this.request?.raw;
  }

  get ips(): unknown {
    return this.request?.ips;
  }

  get socket(): unknown {
    return this.request?.socket;
  }

  get user(): unknown {
    return this.operationUser ?? requestUser(this.request);
  }

  get params(): unknown {
    return this.request?.params;
  }

  get query(): unknown {
    return this.request?.query;
  }

  get headers(): unknown {
    return this.request?.headers;
  }
}
