import type { HttpAdapterHost } from '@nestjs/core';
import type { EventEmitter } from 'node:events';
import { rememberAddresses } from './connections.js';
import type { ContextAdapter } from './context-adapter.js';
import { graphqlContext } from './graphql-context.js';
import { Handshakes } from './handshakes.js';
import { HTTP_CONTEXT } from './http-context.js';
import { RPC_CONTEXT } from './rpc-context.js';
import { wsContext } from './ws-context.js';

/** Of contexts that nobody has described nothing is known, and their arguments are left alone. */
const UNKNOWN: ContextAdapter = { isClientFacing: false };

/** The adapters of all kinds of contexts: those known here, and those that the options add or change. */
export class Adapters {
  private readonly byType: ReadonlyMap<string, ContextAdapter>;
  private readonly handshakes: Handshakes;
  private forget: (() => void) | undefined;

  constructor(
    private readonly http: HttpAdapterHost,
    given: Readonly<Record<string, ContextAdapter>>,
  ) {
    this.handshakes = new Handshakes(http);
    const known: Record<string, ContextAdapter> = {
      http: HTTP_CONTEXT,
      graphql: graphqlContext(this.handshakes),
      ws: wsContext(this.handshakes),
      rpc: RPC_CONTEXT,
    };
    const types = new Set([...Object.keys(known), ...Object.keys(given)]);
    this.byType = new Map([...types].map((type) => [type, { ...known[type], ...given[type] }]));
  }

  of(type: string): ContextAdapter {
    return this.byType.get(type) ?? UNKNOWN;
  }

  /** Call it before the application listens. */
  watchConnections(): void {
    const adapter = this.http.httpAdapter as HttpAdapterHost['httpAdapter'] | undefined;
    this.forget ??= rememberAddresses(serverOf(adapter?.getHttpServer()));
  }

  /** Call it after the last request. */
  unwatchConnections(): void {
    this.forget?.();
    this.forget = undefined;
  }

  /**
   * To be called when gateways are open.
   * @param gateways the servers of gateways, as far as they are known
   */
  watchHandshakes(gateways: readonly EventEmitter[]): void {
    this.handshakes.watch();
    for (const server of gateways) this.handshakes.watchGateway(server);
  }
}

/** `undefined` in an application without HTTP. A serverless platform may return anything here. */
function serverOf(server: unknown): EventEmitter | undefined {
  return typeof (Object(server) as Partial<EventEmitter>).prependListener === 'function'
    ? (server as EventEmitter)
    : undefined;
}
