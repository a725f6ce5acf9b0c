import type { INestApplication, ModuleMetadata, NestApplicationOptions, Type } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FreqLimitModule, type FreqLimitOptions } from 'nestjs-freq-limit';

export type Platform = 'express' | 'fastify';
export const PLATFORMS: readonly Platform[] = ['express', 'fastify'];

export interface TestApp {
  readonly app: INestApplication;
  readonly url: string;
}

export interface AppParts extends ModuleMetadata {
  readonly limits?: FreqLimitOptions;
  readonly controllers?: Type[];
}

const running = new Set<INestApplication>();

/** A real application on a free port, with the module and these parts. `closeApps` ends it. */
export async function startApp(
  platform: Platform,
  { limits = {}, ...parts }: AppParts,
  change: (builder: TestingModuleBuilder) => TestingModuleBuilder = (builder) => builder,
  prepare: (app: INestApplication) => void = () => undefined,
  options: NestApplicationOptions = {},
): Promise<TestApp> {
  const imports = [FreqLimitModule.forRoot(limits), ...(parts.imports ?? [])];
  return serve(platform, { ...parts, imports }, change, prepare, options);
}

/** The same without the module, for applications that bring their own. */
export async function serve(
  platform: Platform,
  parts: ModuleMetadata,
  change: (builder: TestingModuleBuilder) => TestingModuleBuilder = (builder) => builder,
  prepare: (app: INestApplication) => void = () => undefined,
  options: NestApplicationOptions = {},
): Promise<TestApp> {
  const module = await change(Test.createTestingModule(parts)).compile();
  const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = module.createNestApplication(adapter, { logger: false, ...options });
  running.add(app);
  prepare(app);
  await app.init();
  if (platform === 'fastify') await (app as NestFastifyApplication).getHttpAdapter().getInstance().ready();
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as HttpServer).address() as AddressInfo;
  return { app, url: `http://127.0.0.1:${port}` };
}

/** An application that trusts a proxy on this machine. By address: of a mere count of proxies Fastify 5.12 trusts none. */
export async function startBehindProxy(
  platform: Platform,
  controller: Type,
  limits: FreqLimitOptions,
): Promise<{ url: string }> {
  const parts = { imports: [FreqLimitModule.forRoot(limits)], controllers: [controller] };
  const module = await Test.createTestingModule(parts).compile();
  const express = new ExpressAdapter();
  express.set('trust proxy', 'loopback');
  const adapter = platform === 'express' ? express : new FastifyAdapter({ trustProxy: 'loopback' });
  const app = module.createNestApplication(adapter, { logger: false });
  running.add(app);
  await app.listen(0, '127.0.0.1');
  return { url: (await app.getUrl()).replace('[::1]', '127.0.0.1') };
}

export async function closeApps(): Promise<void> {
  const apps = [...running];
  running.clear();
  await Promise.all(apps.map((app) => app.close()));
}

/** The statuses of so many equal requests, one after the other. */
export async function statuses(count: number, ask: () => Promise<Response>): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < count; i++) {
    const response = await ask();
    await response.arrayBuffer();
    seen.push(response.status);
  }
  return seen;
}
