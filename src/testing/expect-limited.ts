import { AssertionError } from 'node:assert';
import { type Seen, see, type SendRequest } from './answer.js';

/** What a limit does to equal visits in a row. */
export interface ExpectedLimit {
  /** How many of them pass; the next is denied. */
  readonly passes: number;
  /**
   * Seconds that the denied visit is told to wait.
   * @default any
   */
  readonly retryAfter?: number | undefined;
}

const DENIED = 429;

/**
 * Visits until the limit is reached: the first `passes` visits are answered with anything but 429, the next with 429.
 * @throws {AssertionError} at the first answer that is another; it tells all of them
 * @throws {TypeError} when `passes` is no whole number from 0, or a visit resolves to no answer
 *
 * @example
 * await expectLimited(() => fetch(`${url}/sms/code`, { method: 'POST' }), { passes: 1, retryAfter: 60 });
 */
export async function expectLimited(send: SendRequest, { passes, retryAfter }: ExpectedLimit): Promise<void> {
  const statuses = await passing(send, passes, expectLimited);
  const denied = await see(send);
  statuses.push(denied.status);
  if (denied.status !== DENIED) {
    const problem = `visit ${passes + 1} passed, where ${passes} may`;
    throw failure(problem, statuses, denied.status, DENIED, expectLimited);
  }
  if (retryAfter === undefined || denied.retryAfter === String(retryAfter)) return;
  const problem = `visit ${passes + 1} was denied with Retry-After ${denied.retryAfter ?? 'left out'}, not ${retryAfter}`;
  throw failure(problem, statuses, denied.retryAfter, String(retryAfter), expectLimited);
}

/**
 * Visits so often, and is denied by no limit: nothing is answered 429.
 * @throws {AssertionError} at the first denial
 * @throws {TypeError} when `visits` is no whole number from 0, or a visit resolves to no answer
 */
export async function expectNotLimited(
  send: SendRequest,
  { requests }: { readonly requests: number },
): Promise<void> {
  await passing(send, requests, expectNotLimited);
}

type Caller = typeof expectLimited | typeof expectNotLimited;

/** The statuses of so many visits, none of which may be denied. */
async function passing(send: SendRequest, count: number, caller: Caller): Promise<number[]> {
  if (!Number.isSafeInteger(count) || count < 0)
    throw new TypeError(`${count} is no number of visits: a whole number from 0`);
  const statuses: number[] = [];
  for (let i = 1; i <= count; i++) {
    const { status }: Seen = await see(send);
    statuses.push(status);
    if (status !== DENIED) continue;
    throw failure(`visit ${i} was denied, where ${count} pass`, statuses, status, 'not 429', caller);
  }
  return statuses;
}

function failure(
  problem: string,
  statuses: readonly number[],
  actual: unknown,
  expected: unknown,
  stackStartFn: Caller,
): AssertionError {
  const message = `${problem}; answers so far: ${statuses.join(', ')}`;
  return new AssertionError({ message, actual, expected, operator: stackStartFn.name, stackStartFn });
}
