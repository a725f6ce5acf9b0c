import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';

/** Express: trusts proxies on this machine and in private networks. */
export function trustProxies(app: NestExpressApplication): void {
  app.set('trust proxy', 'loopback, uniquelocal');
}

/** Fastify: the same. */
export function adapterBehindProxies(): FastifyAdapter {
  return new FastifyAdapter({
    trustProxy: ['127.0.0.1', '::1', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
  });
}

/** Express on a serverless platform: trusts the last address of the header, which the gateway adds. */
export function trustGateway(app: NestExpressApplication): void {
  app.set('trust proxy', 1);
}

/** Fastify: the same. */
export function adapterBehindGateway(): FastifyAdapter {
  return new FastifyAdapter({ trustProxy: (_address, hop) => hop === 0 });
}
