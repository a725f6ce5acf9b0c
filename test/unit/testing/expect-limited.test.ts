import { AssertionError } from 'node:assert';
import { expectLimited, expectNotLimited } from '../../../src/testing/expect-limited.js';
import type { SendRequest, TestResponse } from '../../../src/testing/send-request.js';

/** Requests with these responses. */
function requests(...responses: unknown[]): SendRequest {
  return () => Promise.resolve(responses.shift() as TestResponse);
}

const ok = { status: 200, headers: {} };
const denied = (wait = '60') => ({ status: 429, headers: { 'retry-after': wait } });

describe('expectLimited', () => {
  it.each<[string, unknown[]]>([
    ['responses of supertest', [ok, ok, denied()]],
    [
      'responses of inject',
      [{ statusCode: 201 }, { statusCode: 404 }, { statusCode: 429, headers: { 'retry-after': 60 } }],
    ],
    [
      'responses of fetch',
      [
        new Response('ok'),
        new Response('ok'),
        new Response('no', { status: 429, headers: { 'Retry-After': '60' } }),
      ],
    ],
  ])('accepts the right limit: %s', async (_, responses) => {
    await expect(
      expectLimited(requests(...responses), { passes: 2, retryAfter: 60 }),
    ).resolves.toBeUndefined();
  });

  it('sends no request after the first denial', async () => {
    const left = [ok, denied(), ok];
    await expectLimited(() => left.shift()!, { passes: 1 });
    expect(left).toEqual([ok]);
  });

  it('accepts a handler that denies every request', async () => {
    await expect(expectLimited(requests(denied()), { passes: 0 })).resolves.toBeUndefined();
  });

  it('reads each body to its end, once', async () => {
    const bodies = [new Response('ok'), new Response('no', { status: 429 })];
    const read = new Response('read by the request itself');
    await read.text();
    await expectLimited(requests(read, ...bodies), { passes: 2 });
    expect(bodies.map(({ bodyUsed }) => bodyUsed)).toEqual([true, true]);
  });

  it.each<[string, unknown[], { passes: number; retryAfter?: number }, string]>([
    [
      'passes too few',
      [ok, denied()],
      { passes: 2 },
      'request 2 was denied; 2 should pass (statuses: 200, 429)',
    ],
    ['passes too many', [ok, ok], { passes: 1 }, 'request 2 passed; only 1 should (statuses: 200, 200)'],
    [
      'has another Retry-After',
      [denied('59')],
      { passes: 0, retryAfter: 60 },
      'request 1 was denied with Retry-After 59, not 60 (statuses: 429)',
    ],
    [
      'has no Retry-After',
      [{ status: 429 }],
      { passes: 0, retryAfter: 60 },
      'request 1 was denied with Retry-After missing, not 60 (statuses: 429)',
    ],
  ])('fails if the limit %s', async (_, responses, expected, message) => {
    const failure = await expectLimited(requests(...responses), expected).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AssertionError);
    expect(failure).toMatchObject({ message, operator: 'expectLimited', code: 'ERR_ASSERTION' });
  });

  it.each([-1, 1.5, NaN, undefined])('throws if the number of requests is %p', async (passes) => {
    await expect(expectLimited(requests(), { passes: passes! })).rejects.toThrow(
      /the number of requests must be a whole number from 0, got/,
    );
  });

  it.each([undefined, null, 'ok', {}, { status: '429' }])(
    'throws if the response is %p',
    async (response) => {
      await expect(expectLimited(requests(response), { passes: 1 })).rejects.toThrow(
        /a request must resolve to a response with a status/,
      );
    },
  );
});

describe('expectNotLimited', () => {
  it('accepts requests of which none is denied', async () => {
    const left = [ok, ok, { status: 500 }, denied()];
    await expectNotLimited(() => left.shift()!, { requests: 3 });
    expect(left).toHaveLength(1);
  });

  it('fails at the first denial', async () => {
    await expect(expectNotLimited(requests(ok, denied(), ok), { requests: 3 })).rejects.toMatchObject({
      message: 'request 2 was denied; 3 should pass (statuses: 200, 429)',
      operator: 'expectNotLimited',
    });
  });
});
