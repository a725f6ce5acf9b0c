import { AssertionError } from 'node:assert';
import type { Answer } from '../../../src/testing/answer.js';
import { expectLimited, expectNotLimited } from '../../../src/testing/expect-limited.js';

/** A visit that is answered so, in turn. */
function visits(...answers: unknown[]): () => Promise<Answer> {
  return () => Promise.resolve(answers.shift() as Answer);
}

const ok = { status: 200, headers: {} };
const denied = (wait = '60') => ({ status: 429, headers: { 'retry-after': wait } });

describe('expectLimited', () => {
  it.each<[string, unknown[]]>([
    ["supertest's answers", [ok, ok, denied()]],
    [
      "inject's answers",
      [{ statusCode: 201 }, { statusCode: 404 }, { statusCode: 429, headers: { 'retry-after': 60 } }],
    ],
    [
      "fetch's answers",
      [
        new Response('ok'),
        new Response('ok'),
        new Response('no', { status: 429, headers: { 'Retry-After': '60' } }),
      ],
    ],
  ])('is content with the right limit: %s', async (_, answers) => {
    await expect(expectLimited(visits(...answers), { passes: 2, retryAfter: 60 })).resolves.toBeUndefined();
  });

  it('asks no further than the first denial', async () => {
    const left = [ok, denied(), ok];
    await expectLimited(() => left.shift()!, { passes: 1 });
    expect(left).toEqual([ok]);
  });

  it('knows a closed handler', async () => {
    await expect(expectLimited(visits(denied()), { passes: 0 })).resolves.toBeUndefined();
  });

  it('reads bodies to their end, once', async () => {
    const bodies = [new Response('ok'), new Response('no', { status: 429 })];
    const read = new Response('read by the visit itself');
    await read.text();
    await expectLimited(visits(read, ...bodies), { passes: 2 });
    expect(bodies.map(({ bodyUsed }) => bodyUsed)).toEqual([true, true]);
  });

  it.each<[string, unknown[], { passes: number; retryAfter?: number }, string]>([
    [
      'passes too few',
      [ok, denied()],
      { passes: 2 },
      'visit 2 was denied, where 2 pass; answers so far: 200, 429',
    ],
    ['passes too many', [ok, ok], { passes: 1 }, 'visit 2 passed, where 1 may; answers so far: 200, 200'],
    [
      'is told another wait',
      [denied('59')],
      { passes: 0, retryAfter: 60 },
      'visit 1 was denied with Retry-After 59, not 60; answers so far: 429',
    ],
    [
      'is told no wait',
      [{ status: 429 }],
      { passes: 0, retryAfter: 60 },
      'visit 1 was denied with Retry-After left out, not 60; answers so far: 429',
    ],
  ])('fails when the limit %s', async (_, answers, expected, message) => {
    const failure = await expectLimited(visits(...answers), expected).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AssertionError);
    expect(failure).toMatchObject({ message, operator: 'expectLimited', code: 'ERR_ASSERTION' });
  });

  it.each([-1, 1.5, NaN, undefined])('refuses %p for a number of visits', async (passes) => {
    await expect(expectLimited(visits(), { passes: passes! })).rejects.toThrow(
      /is no number of visits: a whole number from 0/,
    );
  });

  it.each([undefined, null, 'ok', {}, { status: '429' }])('refuses the answer %p', async (answer) => {
    await expect(expectLimited(visits(answer), { passes: 1 })).rejects.toThrow(/answer with a status/);
  });
});

describe('expectNotLimited', () => {
  it('is content where nothing is denied', async () => {
    const left = [ok, ok, { status: 500 }, denied()];
    await expectNotLimited(() => left.shift()!, { requests: 3 });
    expect(left).toHaveLength(1);
  });

  it('fails at the first denial', async () => {
    await expect(expectNotLimited(visits(ok, denied(), ok), { requests: 3 })).rejects.toMatchObject({
      message: 'visit 2 was denied, where 3 pass; answers so far: 200, 429',
      operator: 'expectNotLimited',
    });
  });
});
