import { AssertionError } from 'node:assert';
import { formatForLog } from '../core/errors.js';
import { sendAndRead, type SendRequest } from './send-request.js';

/** What `expectLimited` expects of equal requests in a row. */
export interface ExpectedLimit {
  /** How many requests pass. The next one is denied. */
  readonly passes: number;
  /**
   * The `Retry-After` of the denied request, in seconds.
   * @default any
   */
  readonly retryAfter?: number | undefined;
}

const DENIED = 429;

/**
 * Sends requests until the limit: the first `passes` must not get 429, the next one must.
 * @throws {AssertionError} at the first unexpected response; the message has the statuses of all responses
 * @throws {TypeError} if `passes` is not a whole number from 0, or if a request does not resolve to a response
 *
 * @example
 * await expectLimited(() => fetch(`${url}/sms/code`, { method: 'POST' }), { passes: 1, retryAfter: 60 });
 */
export async function expectLimited(send: SendRequest, { passes, retryAfter }: ExpectedLimit): Promise<void> {
  const statuses = await passing(send, passes, expectLimited);
  const denied = await sendAndRead(send);
  statuses.push(denied.status);
  if (denied.status !== DENIED) {
    const problem = `request ${passes + 1} passed; only ${passes} should`;
    throw failure(problem, statuses, denied.status, DENIED, expectLimited);
  }
  if (retryAfter === undefined || denied.retryAfter === String(retryAfter)) return;
  const problem = `request ${passes + 1} was denied with Retry-After ${denied.retryAfter ?? 'missing'}, not ${retryAfter}`;
  throw failure(problem, statuses, denied.retryAfter, String(retryAfter), expectLimited);
}

/**
 * Sends this many requests: none of them may get 429.
 * @throws {AssertionError} at the first denial; the message has the statuses of all responses
 * @throws {TypeError} if `requests` is not a whole number from 0, or if a request does not resolve to a response
 *
 * @example
 * await expectNotLimited(() => fetch(`${url}/health`), { requests: 100 });
 */
export async function expectNotLimited(
  send: SendRequest,
  { requests }: { readonly requests: number },
): Promise<void> {
  await passing(send, requests, expectNotLimited);
}

type Assertion = typeof expectLimited | typeof expectNotLimited;

/** Sends requests of which none may be denied, and returns their statuses. */
async function passing(send: SendRequest, count: number, assertion: Assertion): Promise<number[]> {
  if (!Number.isSafeInteger(count) || count < 0)
    throw new TypeError(`the number of requests must be a whole number from 0, got ${formatForLog(count)}`);
  const statuses: number[] = [];
  for (let i = 1; i <= count; i++) {
    const { status } = await sendAndRead(send);
    statuses.push(status);
    if (status !== DENIED) continue;
    throw failure(`request ${i} was denied; ${count} should pass`, statuses, status, 'not 429', assertion);
  }
  return statuses;
}

function failure(
  problem: string,
  statuses: readonly number[],
  actual: unknown,
  expected: unknown,
  stackStartFn: Assertion,
): AssertionError {
  const message = `${problem} (statuses: ${statuses.join(', ')})`;
  return new AssertionError({ message, actual, expected, operator: stackStartFn.name, stackStartFn });
}
