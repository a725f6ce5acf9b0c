import type { ModulesContainer } from '@nestjs/core';
import type { EventEmitter } from 'node:events';
import 'reflect-metadata';

/** Nest's metadata keys for `@WebSocketGateway` and `@WebSocketServer`. */
const GATEWAY = 'websockets:is_gateway';
const SERVER = 'websockets:is_socket';

/** The servers of those gateways of the application that have a property with `@WebSocketServer()`. */
export function gatewayServers(modules: ModulesContainer): EventEmitter[] {
  const providers = [...modules.values()].flatMap((module) => [...module.providers.values()]);
  const gateways = providers
    .filter(({ metatype }) => typeof metatype === 'function' && Reflect.hasMetadata(GATEWAY, metatype))
    .map(({ instance }) => Object(instance) as Readonly<Record<string, unknown>>);
  const servers = gateways.flatMap((gateway) =>
    Object.keys(gateway)
      .filter((property) => Reflect.hasMetadata(SERVER, gateway, property))
      .map((property) => gateway[property]),
  );
  return [...new Set(servers)].filter(isEmitter);
}

function isEmitter(server: unknown): server is EventEmitter {
  return typeof (Object(server) as Partial<EventEmitter>).prependListener === 'function';
}
