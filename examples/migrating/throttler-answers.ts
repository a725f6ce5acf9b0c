import { type ArgumentsHost, Catch, HttpException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { type FreqLimitEvent, FreqLimitExceededException, type FreqLimitOptions } from 'nestjs-freq-limit';

/** Sends the body of the throttler. */
export const sameBody: FreqLimitOptions = {
  exceptionFactory: () => new HttpException('ThrottlerException: Too Many Requests', 429),
};

/** Counts denials. Works without `exceptionFactory`. */
@Catch(FreqLimitExceededException) // was: @Catch(ThrottlerException)
export class DenialsFilter extends BaseExceptionFilter {
  denials = 0;

  override catch(exception: FreqLimitExceededException, host: ArgumentsHost): void {
    this.denials += 1;
    super.catch(exception, host);
  }
}

/** A response of Express or Fastify. */
interface Response {
  header(name: string, value: number): unknown;
}

/** Sends headers for each rule: `X-RateLimit-Limit` for the rule `default`, `X-RateLimit-Limit-burst` for `burst`. */
function sendThrottlerHeaders({ verdict, context }: FreqLimitEvent): void {
  if (context?.getType() !== 'http') return;
  const response = context.switchToHttp().getResponse<Response>();
  for (const { name, source, limit, remaining, resetAfterMs, retryAfterMs } of verdict.results) {
    if (source !== 'store') continue;
    const suffix = name === 'default' ? '' : `-${name}`;
    response.header(`X-RateLimit-Limit${suffix}`, limit);
    response.header(`X-RateLimit-Remaining${suffix}`, remaining);
    response.header(`X-RateLimit-Reset${suffix}`, Math.ceil(resetAfterMs / 1_000));
    if (retryAfterMs > 0) response.header(`Retry-After${suffix}`, Math.ceil(retryAfterMs / 1_000));
  }
}

/** Sends the headers of several throttlers. */
export const sameHeaders: FreqLimitOptions = { headers: 'retry-after', onVerdict: sendThrottlerHeaders };
