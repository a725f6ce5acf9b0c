import { type ErrorFormat, PROBLEM_CONTENT_TYPE } from '../answers/error-body.js';
import { headerNames, type HeadersOption } from '../answers/headers.js';
import {
  apiResponsesOf,
  isRoute,
  pluginTypeOf,
  setApiResponses,
  successStatusOf,
} from '../nest/nest-metadata.js';
import type { Plan } from '../rules/plan.js';
import type { PlannedHandler } from './plans.js';

/** The module's options that a denial in an OpenAPI document depends on. */
export interface DocumentOptions {
  readonly headers: HeadersOption;
  readonly errorFormat: ErrorFormat;
  /** With it, the application chooses the body. */
  readonly exceptionFactory: unknown;
}

type Responses = Readonly<Record<string, unknown>>;

interface Documented {
  /** The responses that the handler had without ours. Another application with the same controllers starts from these. */
  readonly own: Responses | undefined;
  /** One for each class that has the method. */
  readonly handlers: readonly PlannedHandler[];
}

/** By the responses that we have set. */
const documented = new WeakMap<object, Documented>();

/**
 * Adds denials to the responses of routes in OpenAPI documents, except those that the application documents itself. It
 * writes what `@ApiResponse` writes and does not load `@nestjs/swagger`.
 */
export function documentDenials(handlers: readonly PlannedHandler[], options: DocumentOptions): void {
  const byMethod = new Map<object, PlannedHandler[]>();
  for (const handler of handlers) {
    if (!isRoute(handler.method)) continue;
    const same = byMethod.get(handler.method);
    if (same === undefined) byMethod.set(handler.method, [handler]);
    else same.push(handler);
  }
  const denials = denialsFor(options);
  for (const [method, same] of byMethod) document(method, same, denials);
}

/** @param handlers one for each class that has the method: a method that several classes inherit has the denials of all */
function document(method: object, handlers: readonly PlannedHandler[], denials: DenialOf): void {
  const current = apiResponsesOf(method);
  const ours = current && documented.get(current);
  const own = ours === undefined ? current : ours.own;
  const missing = handlers.flatMap(({ classRef, plan }) => {
    const known = { ...apiResponsesOf(classRef), ...own };
    return statusesOf(plan).filter((status) => !(status in known));
  });
  if (missing.length === 0 && own === current) return;
  const responses: object = { ...own };
  if (own === undefined) Object.defineProperty(responses, successStatusOf(method), SUCCESS);
  for (const status of missing) Object.defineProperty(responses, status, denials(status));
  documented.set(responses, { own, handlers });
  setApiResponses(method, responses as Responses);
}

/**
 * The response that `@nestjs/swagger` documents for a handler without responses, and would not with ours. The compiler
 * plugin's metadata may be loaded later, so it is read when a document is written.
 */
const SUCCESS: PropertyDescriptor = {
  get(this: object): object {
    const handlers = documented.get(this)?.handlers ?? [];
    return { description: '', ...handlers.map(typeFromPlugin).find(Boolean) };
  },
  enumerable: true,
  configurable: true,
};

function typeFromPlugin({ classRef, name }: PlannedHandler): object | undefined {
  const type = pluginTypeOf(classRef, name);
  if (type === undefined) return undefined;
  return Array.isArray(type) ? { type: type[0] as unknown, isArray: true } : { type };
}

function statusesOf({ rules }: Plan): string[] {
  return rules.filter(({ shadow }) => !shadow).map(({ statusCode }) => String(statusCode));
}

/** The property that documents the denials of a status. */
type DenialOf = (status: string) => PropertyDescriptor;

/** Few applications write documents, and many have thousands of handlers: a denial is made when a document is written. */
function denialsFor(options: DocumentOptions): DenialOf {
  const known = new Map<string, PropertyDescriptor>();
  return (status) => {
    const get = (): object => denial(Number(status), options);
    const property = known.get(status) ?? { get, enumerable: true, configurable: true };
    known.set(status, property);
    return property;
  };
}

function denial(statusCode: number, { headers, errorFormat, exceptionFactory }: DocumentOptions): object {
  const names = headerNames(headers);
  return {
    description: 'Too many requests',
    ...(names.length > 0 && { headers: Object.fromEntries(names.map((name) => [name, HEADERS[name]])) }),
    ...(exceptionFactory === undefined && {
      content:
        errorFormat === 'problem'
          ? { [PROBLEM_CONTENT_TYPE]: { schema: problemSchema(statusCode) } }
          : { 'application/json': { schema: nestSchema(statusCode) } },
    }),
  };
}

const STRING = { type: 'string' };
const INTEGER = { type: 'integer' };
const RETRY_AFTER = { type: 'integer', minimum: 1 };
const RETRY_AFTER_TEXT = 'Seconds to wait before the next request';
const RETRY_AFTER_PROPERTY = { ...RETRY_AFTER, description: RETRY_AFTER_TEXT };

const HEADERS: Readonly<Record<string, object>> = {
  'RateLimit-Policy': { description: 'The quota and the window of each limit', schema: STRING },
  RateLimit: {
    description: 'The remaining quota of each limit, and the seconds until it resets',
    schema: STRING,
  },
  'X-RateLimit-Limit': { description: 'The quota of the tightest limit', schema: INTEGER },
  'X-RateLimit-Remaining': { description: 'The remaining quota of the tightest limit', schema: INTEGER },
  'X-RateLimit-Reset': { description: 'Seconds until the tightest limit resets', schema: INTEGER },
  'Retry-After': { description: RETRY_AFTER_TEXT, schema: RETRY_AFTER },
};

function nestSchema(statusCode: number): object {
  return {
    type: 'object',
    required: ['statusCode', 'error', 'message', 'retryAfter'],
    properties: {
      statusCode: { type: 'integer', example: statusCode },
      error: STRING,
      message: STRING,
      retryAfter: RETRY_AFTER_PROPERTY,
    },
  };
}

function problemSchema(statusCode: number): object {
  return {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'violated-policies', 'retryAfter'],
    properties: {
      type: { type: 'string', format: 'uri' },
      title: STRING,
      status: { type: 'integer', example: statusCode },
      detail: STRING,
      'violated-policies': { type: 'array', items: STRING },
      retryAfter: RETRY_AFTER_PROPERTY,
    },
  };
}
