import 'reflect-metadata';
import type { ResolvedOptions } from '../freq-limit.options.js';
import type { HandlerPlan } from './plans.js';
import { PROBLEM_CONTENT_TYPE } from '../answers/error-body.js';
import { headerNames } from '../answers/headers.js';
import type { Plan } from '../rules/plan.js';

// Where `@nestjs/swagger` keeps what `@ApiResponse` says, of a handler or of a class, and what its compiler plugin has
// found out. It is written and read without loading that package, so that an application which only has it installed
// does not pay for it; a test holds it to what `SwaggerModule` makes of it.
const API_RESPONSE = 'swagger/apiResponse';
const PLUGIN = '_OPENAPI_METADATA_FACTORY';
// of Nest's own decorators
const ROUTE_PATH = 'path';
const ROUTE_METHOD = 'method';
const HTTP_CODE = '__httpCode__';
const POST = 1;

type Responses = Readonly<Record<string, unknown>>;

/** What handlers said before we did: another application with the same controllers writes anew. */
const before = new WeakMap<object, Responses | undefined>();

/** Documents the denials of HTTP handlers for OpenAPI, where the application has not done so itself. */
export function documentDenials(handlers: readonly HandlerPlan[], options: ResolvedOptions): void {
  const byMethod = new Map<object, HandlerPlan[]>();
  for (const handler of handlers) {
    if (!Reflect.hasMetadata(ROUTE_PATH, handler.method)) continue;
    byMethod.set(handler.method, [...(byMethod.get(handler.method) ?? []), handler]);
  }
  for (const [method, inherited] of byMethod) document(method, inherited, options);
}

/** A method that several classes inherit is documented with the denials of all. */
function document(method: object, handlers: readonly HandlerPlan[], options: ResolvedOptions): void {
  const written = responsesOf(method);
  const own = written && before.has(written) ? before.get(written) : written;
  const missing = handlers.flatMap(({ classRef, plan }) => {
    const known = { ...responsesOf(classRef), ...own };
    return statusesOf(plan).filter((status) => !(status in known));
  });
  if (missing.length === 0 && own === written) return;
  const responses = own === undefined ? success(method, handlers) : { ...own };
  for (const status of missing) responses[status] = denialOf(Number(status), options);
  before.set(responses, own);
  Reflect.defineMetadata(API_RESPONSE, responses, method);
}

function responsesOf(target: object): Responses | undefined {
  return Reflect.getMetadata(API_RESPONSE, target) as Responses | undefined;
}

/**
 * What a handler is documented with that says nothing itself, and would no longer be: its success. What the compiler
 * plugin knows of that may be loaded later, and is asked for when a document is written.
 */
function success(method: object, handlers: readonly HandlerPlan[]): Record<string, unknown> {
  const isPost = Reflect.getMetadata(ROUTE_METHOD, method) === POST;
  const status = (Reflect.getMetadata(HTTP_CODE, method) as number | undefined) ?? (isPost ? 201 : 200);
  const get = (): object => ({ description: '', ...handlers.map(foundByPlugin).find(Boolean) });
  return Object.defineProperty({}, status, { get, enumerable: true, configurable: true });
}

function foundByPlugin({ classRef, name }: HandlerPlan): object | undefined {
  const { [PLUGIN]: factory } = classRef as { readonly [PLUGIN]?: () => Record<string, Found | undefined> };
  const found = factory?.()[name];
  if (found?.type === undefined) return undefined;
  return Array.isArray(found.type) ? { type: found.type[0] as unknown, isArray: true } : { type: found.type };
}

/** Of a handler: what it answers with, in a list where it answers a list. */
interface Found {
  readonly type?: unknown;
}

function statusesOf({ rules }: Plan): string[] {
  return rules.filter(({ shadow }) => !shadow).map(({ statusCode }) => String(statusCode));
}

function denialOf(statusCode: number, { headers, errorFormat, exceptionFactory }: ResolvedOptions): object {
  const names = headerNames(headers);
  return {
    description: 'Too many requests: a limit denies this one',
    ...(names.length > 0 && { headers: Object.fromEntries(names.map((name) => [name, HEADERS[name]])) }),
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
  'RateLimit-Policy': {
    description: 'The limits: quota and window of each',
    schema: TEXT,
  },
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
