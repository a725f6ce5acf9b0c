import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { EventEmitter } from 'node:events';
import { rememberAddresses } from './remember-addresses.js';
import type { ContextAdapter } from './context-adapter.js';
import { type ContextKind, contextKindOfType } from './context-kind.js';
import { graphqlContext } from './graphql-context.js';
import { Handshakes } from './handshakes.js';
import { HTTP_CONTEXT } from './http-context.js';
import { RPC_CONTEXT } from './rpc-context.js';
import { wsContext } from './ws-context.js';

/** An adapter as the guard uses it: the option's, completed by this library's own, and the facts about the kind. */
export interface ResolvedAdapter extends ContextAdapter, ContextKind {
  /** The name that `context.getType()` returns. */
  readonly type: string;
}

/** The adapters of all kinds of contexts: this library's own, and those that `contextAdapters` adds or changes. */
export class Adapters {
  private readonly byType: Map<string, ResolvedAdapter>;
  private readonly handshakes: Handshakes;
  private stopWatching: (() => void) | undefined;

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
    this.byType = new Map(
      [...types].map((type) => [type, { ...known[type], ...given[type], ...contextKindOfType(type), type }]),
    );
  }

  of(context: ExecutionContext): ResolvedAdapter {
    const type: string = context.getType();
    return this.byType.get(type) ?? unknownAdapter(type);
  }

  /** Remembers the addresses of clients that disconnect early. Call it before the application listens. */
  watchConnections(): void {
    const adapter = this.http.httpAdapter as HttpAdapterHost['httpAdapter'] | undefined;
    this.stopWatching ??= rememberAddresses(serverOf(adapter?.getHttpServer()));
  }

  /** Stops it. Call it after the last request. */
  unwatchConnections(): void {
    this.stopWatching?.();
    this.stopWatching = undefined;
  }

  /**
   * Remembers the requests that open WebSocket connections. Call it when the gateways are open.
   * @param gateways the known servers of gateways
   */
  watchHandshakes(gateways: readonly EventEmitter[]): void {
    this.handshakes.watch();
    for (const server of gateways) this.handshakes.watchGateway(server);
  }
}

/** Nothing is known about a context without an adapter, so its arguments are not read. */
function unknownAdapter(type: string): ResolvedAdapter {
  return { ...contextKindOfType(type), type, isClientFacing: false };
}

/** `undefined` in an application without HTTP. A serverless platform may return anything here. */
function serverOf(server: unknown): EventEmitter | undefined {
  return typeof (Object(server) as Partial<EventEmitter>).prependListener === 'function'
    ? (server as EventEmitter)
    : undefined;
}
