import type { ExecutionContext } from '@nestjs/common';
import type { ClientRequest } from '../core/request.js';
import type { ContextAdapter } from './context-adapter.js';
import type { Handshakes } from './handshakes.js';
import { errorPayloadOf } from './error-payload.js';

/** A client of a gateway, of socket.io or ws. */
interface WsClient {
  readonly user?: unknown;
  /** socket.io only: the application's own data of the client. */
  readonly data?: { readonly user?: unknown };
}

/**
 * WebSocket gateways: each message is a request. Address, query and headers are those of the handshake. `{body.…}` reads
 * the message, `{user.…}` the user that the application has set on the client (`client.user` or `client.data.user`).
 */
export function wsContext(handshakes: Handshakes): ContextAdapter {
  return {
    request: (context) => {
      const client = context.getArgByIndex<WsClient>(0);
      return new WsRequest(client, handshakes.of(client), context.getArgByIndex<unknown>(1));
    },
    toError: async (exception) => {
      try {
        const { WsException } = await import('@nestjs/websockets');
        return new WsException(errorPayloadOf(exception));
      } catch {
        // other libraries have such contexts too, and do not need @nestjs/websockets
        return exception;
      }
    },
  };
}

/** An argument that only this message has: its payload or acknowledgement function; `undefined` if it is a plain value. */
export function messageOf(context: ExecutionContext): unknown {
  return context.getArgs<unknown[]>().slice(1).find(isObject);
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** A message, with the handshake of its client instead of an HTTP request. */
class WsRequest implements ClientRequest {
  constructor(
    private readonly client: WsClient,
    private readonly handshake: ClientRequest,
    readonly body: unknown,
  ) {}

  get ip(): unknown {
    return this.handshake.ip;
  }

  get socket(): unknown {
    return (this.handshake as { readonly socket?: unknown }).socket;
  }

  get user(): unknown {
    return this.client.user ?? this.client.data?.user;
  }

  get query(): unknown {
    return this.handshake.query;
  }

  get headers(): unknown {
    return this.handshake.headers;
  }
}
