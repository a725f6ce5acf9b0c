import { STATUS_CODES } from 'node:http';
import type { Denial } from './denial.js';

/**
 * The format of error bodies.
 *
 * - `'nest'`: `{ statusCode, error, message, retryAfter }`, like the exceptions of Nest.
 * - `'problem'`: problem details of RFC 9457 as `application/problem+json`. A denial has the problem type of
 *   draft-ietf-httpapi-ratelimit-headers.
 */
export type ErrorFormat = 'nest' | 'problem';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** The message of 503. */
export const STORE_FAILED_MESSAGE = 'The request limit cannot be checked right now. Try again later.';

const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
const QUOTA_EXCEEDED_TITLE = 'Request cannot be satisfied as assigned quota has been exceeded';

const problems = new WeakSet<object>();

/** The body of a denial. */
export function denialBody({ statusCode, message, retryAfter, rules }: Denial, format: ErrorFormat): object {
  if (format === 'nest') return { ...errorBody(statusCode, message, format), retryAfter };
  return problem({
    type: QUOTA_EXCEEDED,
    title: QUOTA_EXCEEDED_TITLE,
    status: statusCode,
    detail: message,
    'violated-policies': rules,
    retryAfter,
  });
}

/** The body of any other error. */
export function errorBody(statusCode: number, message: string, format: ErrorFormat): object {
  const phrase = STATUS_CODES[statusCode] ?? 'Error';
  if (format === 'nest') return { statusCode, error: phrase, message };
  return problem({ type: 'about:blank', title: phrase, status: statusCode, detail: message });
}

function problem(body: object): object {
  problems.add(body);
  return body;
}

/** Whether a body is problem details made here. */
export function isProblem(body: unknown): boolean {
  return typeof body === 'object' && body !== null && problems.has(body);
}

/** A response of Express, as far as it sends JSON. */
interface JsonResponse {
  json: (this: JsonResponse, body: unknown) => unknown;
  setHeader(name: string, value: string): unknown;
}

/**
 * Makes a response of Express send this body with the content type of problem details. Nest 11 would replace a content type
 * that is set before: for an error it sends every object as `application/json`, and logs a warning each time.
 * @returns whether it is a response of Express
 */
export function sendAsProblem(response: unknown, body: unknown): boolean {
  if (!sendsJson(response)) return false;
  const { json } = response;
  response.json = function (sent) {
    if (sent === body) this.setHeader('Content-Type', PROBLEM_CONTENT_TYPE);
    return json.call(this, sent);
  };
  return true;
}

function sendsJson(response: unknown): response is JsonResponse {
  return typeof (Object(response) as { readonly json?: unknown }).json === 'function';
}
