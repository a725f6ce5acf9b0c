import type { HttpAdapterHost } from '@nestjs/core';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { ClientRequest } from '../core/request.js';

/** A gateway's client. */
interface Connected {
  /** socket.io: the request that opened the connection. */
  readonly request?: IncomingMessage;
  /** ws: only the socket of that request. */
  readonly _socket?: object;
}

/** Express's prototype of all requests, which can also read a request that Express has not routed. */
interface Express {
  readonly request: object;
}

interface Handshake extends ClientRequest {
  readonly socket: unknown;
}

/** Remembers the request that opened each WebSocket connection. Reads each request once. */
export class Handshakes {
  private readonly bySocket = new WeakMap<object, IncomingMessage>();
  private readonly byRequest = new WeakMap<IncomingMessage, Handshake>();

  constructor(private readonly http: HttpAdapterHost) {}

  /**
   * Begins to remember the requests that open connections to the application's HTTP server. Without gateways there is no
   * listener for them, and none is added: it would change how Node answers such requests.
   */
  watch(): void {
    const server = this.adapter?.getHttpServer() as EventEmitter | undefined;
    if (server === undefined || server.listenerCount('upgrade') === 0) return;
    server.prependListener('upgrade', (request: IncomingMessage) => {
      this.note(request);
    });
  }

  /** The same for a gateway's own server: ws emits the request together with the client. */
  watchGateway(server: EventEmitter): void {
    server.prependListener('connection', (_client: unknown, request?: IncomingMessage) => {
      if (request !== undefined) this.note(request);
    });
  }

  private note(request: IncomingMessage): void {
    this.bySocket.set(request.socket, request);
    // Node remembers an address that was read once, also for messages that are handled after the client disconnected
    Reflect.get(request.socket, 'remoteAddress');
  }

  /** The handshake of a gateway's client. */
  of(client: unknown): Handshake {
    const { request, _socket: socket } = Object(client) as Connected;
    const upgrade = request ?? (socket && this.bySocket.get(socket));
    return upgrade === undefined ? { socket } : this.ofRequest(upgrade);
  }

  /** Reads a request that opened a connection. */
  ofRequest(request: IncomingMessage): Handshake {
    let handshake = this.byRequest.get(request);
    if (handshake === undefined) {
      const query = queryOf(request.url ?? '');
      handshake = { ip: this.addressOf(request), headers: request.headers, query, socket: request.socket };
      this.byRequest.set(request, handshake);
    }
    return handshake;
  }

  /** `undefined` in an application without HTTP. */
  private get adapter(): HttpAdapterHost['httpAdapter'] | undefined {
    return this.http.httpAdapter;
  }

  /**
   * No platform has handled this request. Express's getter `ip` can still read it, so that `trust proxy` applies; with
   * other platforms the address is the socket's.
   */
  private addressOf(upgrade: IncomingMessage): unknown {
    const { adapter } = this;
    if (adapter?.getType() !== 'express') return upgrade.socket.remoteAddress;
    const { request } = adapter.getInstance<Express>();
    const asExpress = Object.create(request, {
      headers: { value: upgrade.headers },
      socket: { value: upgrade.socket },
    }) as ClientRequest;
    return asExpress.ip;
  }
}

/**
 * Parses the query of a request target, which may not be a valid URL. A parameter that occurs twice becomes an array, which
 * keys treat as missing: the application may read either value.
 */
function queryOf(target: string): object {
  const mark = target.indexOf('?');
  return mark === -1 ? {} : parse(target.slice(mark + 1));
}
