import 'reflect-metadata';
import type { ResolvedOptions } from './freq-limit.options.js';
import { PROBLEM_CONTENT_TYPE } from './http/error-body.js';
import { headerNames } from './http/headers.js';
import type { Plan } from './rules/plan.js';

// Where `@nestjs/swagger` keeps what `@ApiResponse` says, of a handler or of a class. It is written without loading that
// package, so that an application which only has it installed does not pay for it; a test holds it to what
// `SwaggerModule` makes of it.
const API_RESPONSE = 'swagger/apiResponse';
const ROUTE_PATH = 'path';

type Responses = Readonly<Record<string, unknown>>;

/** Documents the denial of an HTTP handler for OpenAPI, where the application has not done so itself. */
export function documentDenial(classRef: object, method: object, plan: Plan, options: ResolvedOptions): void {
  if (!Reflect.hasMetadata(ROUTE_PATH, method)) return;
  const own = (Reflect.getMetadata(API_RESPONSE, method) ?? {}) as Responses;
  const ofClass = (Reflect.getMetadata(API_RESPONSE, classRef) ?? {}) as Responses;
  const statuses = plan.rules.filter(({ shadow }) => !shadow).map(({ statusCode }) => String(statusCode));
  const missing = statuses.filter((status) => !(status in own) && !(status in ofClass));
  if (missing.length === 0) return;
  const denials = Object.fromEntries(missing.map((status) => [status, denialOf(Number(status), options)]));
  Reflect.defineMetadata(API_RESPONSE, { ...own, ...denials }, method);
}

function denialOf(statusCode: number, { headers, errorFormat, exceptionFactory }: ResolvedOptions): object {
  const names = headerNames(headers);
  return {
    description: 'Too many requests: a limit denies this one',
    headers: Object.fromEntries(names.map((name) => [name, HEADERS[name]])),
    // what the application throws itself has whatever body it likes
    ...(exceptionFactory === undefined && {
      content:
        errorFormat === 'problem'
          ? { [PROBLEM_CONTENT_TYPE]: { schema: problemSchema(statusCode) } }
          : { 'application/json': { schema: nestSchema(statusCode) } },
    }),
  };
}

const TEXT = { type: 'string' };
const SECONDS = { type: 'integer', minimum: 1, description: 'Seconds until it would pass' };

const HEADERS: Readonly<Record<string, object>> = {
  'RateLimit-Policy': { description: 'The limits: quota and window of each', schema: TEXT },
  RateLimit: { description: 'What remains of each limit, and the seconds until it is fresh', schema: TEXT },
  'X-RateLimit-Limit': { description: 'Units of the tightest limit', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'What remains of it', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'Seconds until it is fresh', schema: { type: 'integer' } },
  'Retry-After': { description: SECONDS.description, schema: { type: 'integer', minimum: 1 } },
};

function nestSchema(statusCode: number): object {
  return {
    type: 'object',
    required: ['statusCode', 'error', 'message', 'retryAfter'],
    properties: {
      statusCode: { type: 'integer', example: statusCode },
      error: TEXT,
      message: TEXT,
      retryAfter: SECONDS,
    },
  };
}

function problemSchema(statusCode: number): object {
  return {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'violated-policies', 'retryAfter'],
    properties: {
      type: { type: 'string', format: 'uri' },
      title: TEXT,
      status: { type: 'integer', example: statusCode },
      detail: TEXT,
      'violated-policies': { type: 'array', items: TEXT },
      retryAfter: SECONDS,
    },
  };
}
