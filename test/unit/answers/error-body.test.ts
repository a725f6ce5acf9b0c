import { denialBody, errorBody, isProblem, sendAsProblem } from '../../../src/answers/error-body.js';

const denial = { statusCode: 429, message: 'Not so fast', retryAfter: 8, rules: ['minute', 'day'] };

describe('error bodies', () => {
  it("look like Nest's with format 'nest'", () => {
    expect(denialBody(denial, 'nest')).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Not so fast',
      retryAfter: 8,
    });
    expect(errorBody(503, 'later', 'nest')).toEqual({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'later',
    });
  });

  it("are problem details of RFC 9457 with format 'problem'", () => {
    expect(denialBody(denial, 'problem')).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: 'Not so fast',
      'violated-policies': ['minute', 'day'],
      retryAfter: 8,
    });
    expect(errorBody(400, 'no key', 'problem')).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'no key',
    });
  });

  it('have a phrase for an unregistered status', () => {
    expect(errorBody(420, 'calm', 'nest')).toMatchObject({ error: 'Error' });
    expect(errorBody(420, 'calm', 'problem')).toMatchObject({ title: 'Error' });
  });

  it('are recognized as problem details only if they were made here', () => {
    expect(isProblem(denialBody(denial, 'problem'))).toBe(true);
    expect([denialBody(denial, 'nest'), { type: 'about:blank' }, 'text', null].map(isProblem)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

/** Records what was set and sent, in the order in which it was. */
function fakeResponse() {
  const calls: unknown[] = [];
  return {
    calls,
    json(this: unknown, body: unknown) {
      calls.push(['json', body]);
      return this;
    },
    setHeader(name: string, value: string) {
      calls.push([name, value]);
    },
  };
}

describe('sendAsProblem', () => {
  it('sets the content type when the body is sent, and for no other body', () => {
    const body = { type: 'about:blank' };
    const response = fakeResponse();
    expect(sendAsProblem(response, body)).toBe(true);
    expect(response.calls).toEqual([]);
    expect(response.json({ mine: true })).toBe(response);
    response.json(body);
    expect(response.calls).toEqual([
      ['json', { mine: true }],
      ['Content-Type', 'application/problem+json'],
      ['json', body],
    ]);
  });

  it.each([undefined, null, {}, { header: () => undefined }])('ignores other responses: %p', (response) => {
    expect(sendAsProblem(response, {})).toBe(false);
  });
});
