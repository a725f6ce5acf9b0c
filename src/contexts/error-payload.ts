import type { HttpException } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';

/** An HTTP exception, for transports without HTTP status and body. */
export interface ErrorPayload {
  readonly status: 'error';
  /** The HTTP status in words, such as `TOO_MANY_REQUESTS`. */
  readonly code: string;
  readonly message: string;
  /** Whole seconds; absent if the body of the exception has none. */
  readonly retryAfter?: number;
}

export function errorPayloadOf(exception: HttpException): ErrorPayload {
  const body = exception.getResponse() as { readonly retryAfter?: unknown };
  const { retryAfter } = Object(body) as { readonly retryAfter?: unknown };
  return {
    status: 'error',
    code: codeOf(exception.getStatus()),
    message: exception.message,
    ...(typeof retryAfter === 'number' && { retryAfter }),
  };
}

function codeOf(statusCode: number): string {
  const phrase = STATUS_CODES[statusCode] ?? `Error ${statusCode}`;
  return phrase.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
}
