import type { ExecutionContext } from '@nestjs/common';
import type { Outcome } from '../rules/rule.js';
import type { HandlerEnd } from './decisions.js';

/** An HTTP response, whose status tells how the request ended. */
export interface StatusResponse {
  readonly statusCode?: unknown;
}

/** A request whose outcome `countWhen` decides on. */
export interface EndedRequest {
  readonly context: ExecutionContext;
  readonly isHttp: boolean;
  readonly response: StatusResponse | undefined;
}

/** The outcome of a request, from the end of its handler and the status of its response. */
export function outcomeOf(request: EndedRequest, { succeeded, error, result }: HandlerEnd): Outcome {
  const statusCode = succeeded ? statusOf(request) : failedStatusOf(request, error);
  return {
    succeeded: succeeded && (statusCode ?? 200) < 400,
    statusCode,
    error,
    result,
    context: request.context,
  };
}

/** The status of what was thrown; if that is not known, of the response. */
function failedStatusOf(request: EndedRequest, error: unknown): number | undefined {
  const { getStatus } = Object(error) as { readonly getStatus?: unknown };
  if (typeof getStatus === 'function') {
    const status = (error as { getStatus(): unknown }).getStatus();
    if (typeof status === 'number') return status;
  }
  if (!request.isHttp) return undefined;
  return error === undefined ? statusOf(request) : (ownStatusOf(error) ?? 500);
}

/** The status of errors of Fastify and of the package `http-errors`, which Nest uses for the response too. */
function ownStatusOf(error: unknown): number | undefined {
  const { statusCode, expose, name } = Object(error) as Readonly<Record<string, unknown>>;
  const isOne = typeof expose === 'boolean' || name === 'FastifyError';
  return isOne && typeof statusCode === 'number' ? statusCode : undefined;
}

function statusOf({ isHttp, response }: EndedRequest): number | undefined {
  return isHttp && typeof response?.statusCode === 'number' ? response.statusCode : undefined;
}
