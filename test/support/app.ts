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

/** A real application on a free port, with the module and these parts. `closeApps` closes it. */
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

/** The same without the module, for applications that import it themselves. */
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

/** An application that trusts a proxy on this machine, by address, since Fastify 5.12 trusts no mere number of proxies. */
export async function startBehindProxy(
  platform: Platform,
  controller: Type,
  limits: FreqLimitOptions,
  adapter = adapterBehindProxy(platform),
): Promise<TestApp> {
  const parts = { imports: [FreqLimitModule.forRoot(limits)], controllers: [controller] };
  const module = await Test.createTestingModule(parts).compile();
  const app = module.createNestApplication(adapter, { logger: false });
  running.add(app);
  await app.listen(0, '127.0.0.1');
  return { app, url: (await app.getUrl()).replace('[::1]', '127.0.0.1') };
}

function adapterBehindProxy(platform: Platform): ExpressAdapter | FastifyAdapter {
  if (platform === 'fastify') return new FastifyAdapter({ trustProxy: 'loopback' });
  const adapter = new ExpressAdapter();
  adapter.set('trust proxy', 'loopback');
  return adapter;
}

export async function closeApps(): Promise<void> {
  const apps = [...running];
  running.clear();
  await Promise.all(apps.map((app) => app.close()));
}

/** The statuses of `count` equal requests, one after the other. */
export async function statuses(count: number, send: () => Promise<Response>): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < count; i++) {
    const response = await send();
    await response.arrayBuffer();
    seen.push(response.status);
  }
  return seen;
}
