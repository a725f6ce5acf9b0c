import type {
  INestApplication,
  INestMicroservice,
  ModuleMetadata,
  NestHybridApplicationOptions,
} from '@nestjs/common';
import {
  type ClientOptions,
  ClientProxyFactory,
  type MicroserviceOptions,
  Transport,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { firstValueFrom } from 'rxjs';
import { FreqLimitModule, type FreqLimitModuleExtras, type FreqLimitOptions } from 'nestjs-freq-limit';
import { durationInWords } from '../../src/core/duration-text.js';
import { closeApps, serve } from './app.js';
import { redisUrl } from './redis.js';
import { freePort } from './server.js';

export type Broker = 'tcp' | 'redis';

export interface MicroserviceParts extends ModuleMetadata {
  readonly limits?: FreqLimitOptions & FreqLimitModuleExtras;
}

/** A client of a microservice. */
export interface MessageClient {
  /** Sends a message; resolves to the response, or to an object with the error. */
  send(pattern: string, data: unknown): Promise<unknown>;
  /** Publishes an event; resolves when it is sent. */
  emit(pattern: string, data: unknown): Promise<void>;
  close(): void;
}

/** The response to a denied message. */
export const denied = (retryAfter = 60) => ({
  error: {
    status: 'error',
    code: 'TOO_MANY_REQUESTS',
    message: `Too many requests. Try again in ${durationInWords(retryAfter)}.`,
    retryAfter,
  },
});

const running: { close(): unknown }[] = [];

/** Call it after each test. */
export async function closeMicroservices(): Promise<void> {
  for (const one of running.splice(0).reverse()) await one.close();
  await closeApps();
}

export async function transportOf(broker: Broker): Promise<MicroserviceOptions> {
  if (broker === 'tcp')
    return { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } };
  const { hostname, port } = new URL(redisUrl());
  return { transport: Transport.REDIS, options: { host: hostname, port: Number(port) } };
}

/** An application with message handlers only. */
export async function startMicroservice(
  transport: MicroserviceOptions,
  { limits = {}, imports = [], ...parts }: MicroserviceParts,
): Promise<INestMicroservice> {
  const all = { ...parts, imports: [FreqLimitModule.forRoot(limits), ...imports] };
  const module = await Test.createTestingModule(all).compile();
  const service = module.createNestMicroservice<MicroserviceOptions>({ ...transport, logger: false });
  await service.listen();
  running.push(service);
  return service;
}

/** An application with message handlers and HTTP. */
export async function startHybrid(
  transport: MicroserviceOptions,
  { limits = {}, imports = [], ...parts }: MicroserviceParts,
  hybrid: NestHybridApplicationOptions = {},
): Promise<{ app: INestApplication; url: string }> {
  const all = { ...parts, imports: [FreqLimitModule.forRoot(limits), ...imports] };
  const served = await serve('express', all, undefined, (app) => {
    app.connectMicroservice<MicroserviceOptions>(transport, hybrid);
  });
  await served.app.startAllMicroservices();
  return served;
}

export function messageClient(transport: MicroserviceOptions): MessageClient {
  const client = ClientProxyFactory.create(transport as ClientOptions);
  running.push(client);
  return {
    send: (pattern, data) =>
      firstValueFrom(client.send<unknown>(pattern, data as never)).catch((error: unknown) => ({ error })),
    emit: async (pattern, data) => {
      await firstValueFrom(client.emit(pattern, data as never), { defaultValue: undefined });
    },
    close: () => void client.close(),
  };
}
