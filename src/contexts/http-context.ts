import type { VisitRequest } from '../core/visit.js';
import type { ContextAdapter } from './context-adapter.js';

/** Express and Fastify: the request is what keys read as it is. */
export const HTTP_CONTEXT: ContextAdapter = {
  request: (context) => context.getArgByIndex<VisitRequest | undefined>(0),
  response: (context) => context.getArgByIndex<unknown>(1),
};
