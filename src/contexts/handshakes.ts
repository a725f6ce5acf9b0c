import type { HttpAdapterHost } from '@nestjs/core';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { ClientRequest } from '../core/request.js';

/** A client of a gateway, as far as it remembers how it came. */
interface Connected {
  /** Of socket.io: the request that opened the connection. */
  readonly request?: IncomingMessage;
  /** Of ws, which keeps nothing of the request but its socket. */
  readonly _socket?: object;
}

/** Express, as far as it can be asked about a request that it has not routed. */
interface Express {
  readonly request: object;
}

interface Handshake extends ClientRequest {
  readonly socket: unknown;
}

/** Knows the request that each WebSocket client came with, and reads it once. */
export class Handshakes {
  private readonly bySocket = new WeakMap<object, IncomingMessage>();
  private readonly byRequest = new WeakMap<IncomingMessage, Handshake>();

  constructor(private readonly http: HttpAdapterHost) {}

  /**
   * Begins to note the requests by which clients come to the application's HTTP server. Only where something answers
   * them already: a server without gateways is to go on treating them as Node does.
   */
  watch(): void {
    const server = this.adapter?.getHttpServer() as EventEmitter | undefined;
    if (server === undefined || server.listenerCount('upgrade') === 0) return;
    server.prependListener('upgrade', (request: IncomingMessage) => {
      this.note(request);
    });
  }

  /** The same for a gateway's own server: that of ws tells the request beside each client. */
  watchGateway(server: EventEmitter): void {
    server.prependListener('connection', (_client: unknown, request?: IncomingMessage) => {
      if (request !== undefined) this.note(request);
    });
  }

  private note(request: IncomingMessage): void {
    this.bySocket.set(request.socket, request);
    // an address that was read once is known of messages too whose client is gone when their turn comes
    Reflect.get(request.socket, 'remoteAddress');
  }

  /** The handshake of a gateway's client. */
  of(client: unknown): Handshake {
    const { request, _socket: socket } = Object(client) as Connected;
    const upgrade = request ?? (socket && this.bySocket.get(socket));
    return upgrade === undefined ? { socket } : this.ofRequest(upgrade);
  }

  /** What a request says that opened a connection. */
  ofRequest(request: IncomingMessage): Handshake {
    let handshake = this.byRequest.get(request);
    if (handshake === undefined) {
      const query = queryOf(request.url ?? '');
      handshake = { ip: this.addressOf(request), headers: request.headers, query, socket: request.socket };
      this.byRequest.set(request, handshake);
    }
    return handshake;
  }

  /** None in an application without HTTP. */
  private get adapter(): HttpAdapterHost['httpAdapter'] | undefined {
    return this.http.httpAdapter;
  }

  /**
   * No platform has seen this request. Express can still be asked what its `trust proxy` makes of it; elsewhere the
   * address is the socket's.
   */
  private addressOf(upgrade: IncomingMessage): unknown {
    const { adapter } = this;
    if (adapter?.getType() !== 'express') return upgrade.socket.remoteAddress;
    const { request } = adapter.getInstance<Express>();
    const asked = Object.create(request, {
      headers: { value: upgrade.headers },
      socket: { value: upgrade.socket },
    }) as ClientRequest;
    return asked.ip;
  }
}

/**
 * Of whatever stands in a request line, which need not be a URL. A parameter that comes twice is a list, and counts as
 * missing: which of them the application reads is its affair.
 */
function queryOf(target: string): object {
  const mark = target.indexOf('?');
  return mark === -1 ? {} : parse(target.slice(mark + 1));
}
