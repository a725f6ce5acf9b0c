import type { ModulesContainer } from '@nestjs/core';
import type { EventEmitter } from 'node:events';
import { isGateway, isServerProperty } from './nest-metadata.js';

/** The servers of the application's gateways, as far as a gateway has its server by `@WebSocketServer()`. */
export function gatewayServers(modules: ModulesContainer): EventEmitter[] {
  const providers = [...modules.values()].flatMap((module) => [...module.providers.values()]);
  const gateways = providers
    .filter(({ metatype }) => typeof metatype === 'function' && isGateway(metatype))
    .map(({ instance }) => Object(instance) as Readonly<Record<string, unknown>>);
  const servers = gateways.flatMap((gateway) =>
    Object.keys(gateway)
      .filter((property) => isServerProperty(gateway, property))
      .map((property) => gateway[property]),
  );
  return [...new Set(servers)].filter(isEmitter);
}

/** Whether Nest applies global guards to gateways. It does since version 12. */
export async function gatewaysHaveGlobalGuards(): Promise<boolean> {
  try {
    const { SocketModule } = await import('@nestjs/websockets/socket-module.js');
    const { getContextCreator } = SocketModule.prototype as unknown as Readonly<
      Record<'getContextCreator', { readonly length: number } | undefined>
    >;
    // since it takes the application's configuration
    return getContextCreator === undefined || getContextCreator.length > 1;
  } catch {
    // messages come by another library
    return true;
  }
}

function isEmitter(server: unknown): server is EventEmitter {
  return typeof (Object(server) as Partial<EventEmitter>).prependListener === 'function';
}
