import { FastifyAdapter } from '@nestjs/platform-fastify';

export const adapter = (): FastifyAdapter => new FastifyAdapter();
