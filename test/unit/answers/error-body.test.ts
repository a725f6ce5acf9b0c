import { denialBody, errorBody } from '../../../src/answers/error-body.js';

const denial = { statusCode: 429, message: 'Not so fast', retryAfter: 8, rules: ['minute', 'day'] };

describe('bodies of refusals', () => {
  it('look like those of Nest', () => {
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

  it('are problem details of RFC 9457', () => {
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

  it('have a word also for a status that nobody has named', () => {
    expect(errorBody(420, 'calm', 'nest')).toMatchObject({ error: 'Error' });
    expect(errorBody(420, 'calm', 'problem')).toMatchObject({ title: 'Error' });
  });
});
