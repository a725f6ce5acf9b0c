import { STATUS_CODES } from 'node:http';

/**
 * How refusals look in a body.
 *
 * - `'nest'`: `{ statusCode, error, message, retryAfter }`, as Nest's own exceptions;
 * - `'problem'`: problem details of RFC 9457, `application/problem+json`, a denial with the problem type that
 *   draft-ietf-httpapi-ratelimit-headers defines.
 */
export type ErrorFormat = 'nest' | 'problem';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
const QUOTA_EXCEEDED_TITLE = 'Request cannot be satisfied as assigned quota has been exceeded';

const problems = new WeakSet<object>();

/** Whether a body is one of ours in that format; those of the application are whatever they are. */
export function isProblem(body: unknown): boolean {
  return typeof body === 'object' && body !== null && problems.has(body);
}

/** What a denial tells its caller. */
export interface Denial {
  readonly statusCode: number;
  readonly message: string;
  /** Whole seconds. */
  readonly retryAfter: number;
  /** Names of the rules that deny. */
  readonly rules: readonly string[];
}

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

/** The body of a refusal that is no denial. */
export function errorBody(statusCode: number, message: string, format: ErrorFormat): object {
  const phrase = STATUS_CODES[statusCode] ?? 'Error';
  if (format === 'nest') return { statusCode, error: phrase, message };
  return problem({ type: 'about:blank', title: phrase, status: statusCode, detail: message });
}

function problem(body: object): object {
  problems.add(body);
  return body;
}
