import type { ExecutionContext } from '@nestjs/common';
import type { VisitRequest } from '../core/visit.js';
import type { IncomingMessage } from 'node:http';
import type { ContextAdapter } from './context-adapter.js';
import type { Handshakes } from './handshakes.js';
import { refusalOf } from './refusal.js';

/** What Apollo, Mercurius and graphql-ws put into the context of an operation, as far as it is of use here. */
interface GraphqlContext {
  /** The request; for a subscription over graphql-ws what that knows of its connection. */
  readonly req?: VisitRequest & { readonly res?: unknown; readonly extra?: Connection };
  readonly request?: VisitRequest;
  readonly res?: unknown;
  readonly reply?: { readonly request?: VisitRequest };
  readonly user?: unknown;
}

interface Connection {
  readonly request?: IncomingMessage;
  readonly user?: unknown;
}

/** The part of graphql-js's `GraphQLResolveInfo` that tells a field of the operation from a field of its results. */
interface ResolveInfo {
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
      const { req, request, reply, user } = operationOf(context);
      const upgrade = req?.extra?.request;
      const found =
        upgrade === undefined ? (req ?? request ?? reply?.request) : handshakes.ofRequest(upgrade);
      return new ResolverRequest(found, user ?? req?.extra?.user, argsFromEnd(context, 3));
    },
    response: (context) => {
      const { req, res, reply } = operationOf(context);
      return res ?? reply ?? req?.res;
    },
    // An error of its own: what looks like Nest's HTTP exceptions, Apollo's driver turns into an internal error. Drivers
    // show the `extensions` of whatever is thrown.
    toError: (exception) => {
      const { code, message, retryAfter } = refusalOf(exception);
      const extensions = { code, ...(retryAfter !== undefined && { retryAfter }) };
      return Object.assign(new Error(message, { cause: exception }), { extensions });
    },
  };
}

/**
 * Whether a resolver is called for a field of a result: guards stand before it only where the application's
 * `fieldResolverEnhancers` says so, and then for each item of a list. It has its own rules and no others.
 */
export function isFieldOfResult(context: ExecutionContext): boolean {
  const { parentType, schema } = infoOf(context);
  if (parentType === undefined || schema === undefined) return false;
  return ![schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].includes(
    parentType,
  );
}

/** What one call of a resolver has to itself. */
export function infoOf(context: ExecutionContext): ResolveInfo {
  return argsFromEnd(context, 1) ?? {};
}

function operationOf(context: ExecutionContext): GraphqlContext {
  return argsFromEnd(context, 2) ?? {};
}

/** Resolvers get `(root, args, context, info)`, those of a federation's references `(reference, context, info)`. */
function argsFromEnd(context: ExecutionContext, place: number): unknown {
  return context.getArgs<unknown[]>().at(-place);
}

/** The operation's request, with the resolver's arguments in the place of its body. */
class ResolverRequest implements VisitRequest {
  constructor(
    private readonly request: VisitRequest | undefined,
    private readonly operationUser: unknown,
    readonly body: unknown,
  ) {}

  get ip(): unknown {
    return this.request?.ip;
  }

  get socket(): unknown {
    return (this.request as { readonly socket?: unknown } | undefined)?.socket;
  }

  get user(): unknown {
    return this.operationUser ?? this.request?.user;
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
