import type { INestApplication } from '@nestjs/common';

/** Lets scripts of other origins read the limit headers. */
export function exposeLimitHeaders(app: INestApplication): void {
  app.enableCors({ exposedHeaders: ['RateLimit', 'RateLimit-Policy', 'Retry-After'] });
}
