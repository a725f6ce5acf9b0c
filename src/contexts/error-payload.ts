import type { HttpException } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';

/** A refusal as transports without a status line tell it. */
export interface ErrorPayload {
  readonly status: 'error';
  /** Such as `TOO_MANY_REQUESTS`. */
  readonly code: string;
  readonly message: string;
  /** Whole seconds; absent where waiting is not known to help. */
  readonly retryAfter?: number;
}

/** What an HTTP exception of this library says, without HTTP. */
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
