import { type ExecutionContext, IntrinsicException } from '@nestjs/common';
import type { ClientRequest } from '../core/request.js';
import type { IncomingMessage } from 'node:http';
import type { ContextAdapter } from './context-adapter.js';
import type { Handshakes } from './handshakes.js';
import { type PlatformRequest, requestUser } from './http-context.js';
import { errorPayloadOf } from './error-payload.js';

/** What Apollo, Mercurius and graphql-ws put into the context of an operation, as far as it is of use here. */
interface GraphqlContext {
  /** The request; for a subscription over graphql-ws what that knows of its connection. */
  readonly req?: ClientRequest & { readonly res?: unknown; readonly extra?: Connection };
  readonly request?: ClientRequest;
  readonly res?: unknown;
  readonly reply?: { readonly request?: ClientRequest };
  readonly extra?: Connection;
  readonly user?: unknown;
}

interface Connection {
  readonly request?: ClientRequest;
  readonly user?: unknown;
}

/** The part of graphql-js's `GraphQLResolveInfo` that tells a field of the operation from a field of its results. */
interface ResolveInfo {
  readonly fieldName?: unknown;
  readonly parentType?: unknown;
  readonly schema?: Readonly<
    Record<'getQueryType' | 'getMutationType' | 'getSubscriptionType', () => unknown>
  >;
}

/**
 * Resolvers: each call is a visit of its own, whatever else its operation asks for. The request is found through the
 * operation's context, `{body.…}` reads the resolver's arguments, and headers are set where the context has a response.
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
      return Object.assign(new Refused(message, { cause: exception }), { extensions });
    },
  };
}

/**
 * An error of its own: what looks like Nest's HTTP exceptions, Apollo's driver turns into an internal error. Drivers show
 * the `extensions` of whatever is thrown, and Nest logs none of this kind.
 */
class Refused extends IntrinsicException {}

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

/** What `{body.…}` reads: the field's arguments, or the value. */
function inputOf(context: ExecutionContext): unknown {
  return context.getArgByIndex<unknown>(isCalledWithValue(context) ? 0 : 1);
}

/** Mercurius's reply goes before `req`, which a context given as one object keeps from its first operation. */
function requestOf(operation: GraphqlContext, handshakes: Handshakes): ClientRequest | undefined {
  const { req, request, reply } = operation;
  const found = connectionOf(operation)?.request ?? reply?.request ?? req ?? request;
  return isOfNode(found) ? handshakes.ofRequest(found) : found;
}

/** Whom a guard has put into the operation's context, onto its request, or onto the connection. */
function userOf(operation: GraphqlContext): unknown {
  const connection = connectionOf(operation);
  return operation.user ?? operation.req?.user ?? connection?.user ?? connection?.request?.user;
}

function connectionOf({ req, extra }: GraphqlContext): Connection | undefined {
  return req?.extra ?? extra;
}

/** A request that no platform has seen, such as one that has opened a connection. */
function isOfNode(request: unknown): request is IncomingMessage {
  if (typeof request !== 'object' || request === null || 'ip' in request) return false;
  const { url, headers, socket } = request as Partial<IncomingMessage>;
  return typeof url === 'string' && typeof headers === 'object' && typeof socket === 'object';
}

/** Both platforms' responses; contexts of GraphQL may hold anything. */
export function isResponse(response: unknown): response is object {
  return typeof (Object(response) as { readonly header?: unknown }).header === 'function';
}

/** The operation's request, with the resolver's arguments in the place of its body. */
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
