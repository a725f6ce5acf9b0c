import type { ClientRequest } from '../core/request.js';
import type { ContextAdapter } from './context-adapter.js';

/** On Fastify, `raw` is Node's own request, which middleware receives. */
export interface PlatformRequest extends ClientRequest {
  readonly raw?: { readonly user?: unknown } | undefined;
  readonly socket?: unknown;
  readonly ips?: unknown;
}

/** Express and Fastify: keys read the platform's request. */
export const HTTP_CONTEXT: ContextAdapter = {
  request: (context) => withUser(context.getArgByIndex<PlatformRequest | undefined>(0)),
  response: (context) => context.getArgByIndex<unknown>(1),
};

/** The user of a request; on Fastify, else the user that middleware has set on Node's request. */
export function requestUser(request: PlatformRequest | undefined): unknown {
  return request?.user ?? request?.raw?.user;
}

function withUser(request: PlatformRequest | undefined): ClientRequest | undefined {
  if (request?.raw?.user === undefined) return request;
  const user = requestUser(request);
  return user === request.user ? request : new RequestWithUser(request, user);
}

class RequestWithUser implements PlatformRequest {
  constructor(
    private readonly request: PlatformRequest,
    readonly user: unknown,
  ) {}

  get ip(): unknown {
    return this.request.ip;
  }

  get raw(): PlatformRequest['raw'] {
    return this.request.raw;
  }

  get ips(): unknown {
    return this.request.ips;
  }

  get socket(): unknown {
    return this.request.socket;
  }

  get body(): unknown {
    return this.request.body;
  }

  get params(): unknown {
    return this.request.params;
  }

  get query(): unknown {
    return this.request.query;
  }

  get headers(): unknown {
    return this.request.headers;
  }
}
