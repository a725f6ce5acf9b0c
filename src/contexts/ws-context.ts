import type { ExecutionContext } from '@nestjs/common';
import type { ClientRequest } from '../core/request.js';
import type { ContextAdapter } from './context-adapter.js';
import type { Handshakes } from './handshakes.js';
import { errorPayloadOf } from './error-payload.js';

/** What gateways of socket.io and ws have in common with each other, or not. */
interface WsClient {
  readonly user?: unknown;
  /** Of socket.io: what the application keeps with a client. */
  readonly data?: { readonly user?: unknown };
}

/**
 * WebSocket gateways: each message is a visit. Address, query and headers are those of the handshake, `{body.…}` reads
 * the message, `{user.…}` what the application has set on the client (`client.user`, or `client.data.user`).
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
        // messages can come by other libraries, without this package
        return exception;
      }
    },
  };
}

/** What one message has to itself: its payload or an acknowledgement function; none where it is a plain value. */
export function messageOf(context: ExecutionContext): unknown {
  return context.getArgs<unknown[]>().slice(1).find(isObject);
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** A message, with the handshake of its client in the place of an HTTP request. */
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
