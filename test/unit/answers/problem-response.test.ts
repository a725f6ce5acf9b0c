import { sendAsProblem } from '../../../src/answers/problem-response.js';

/** What was set and sent, as Express's response has it. */
function fakeResponse() {
  const told: unknown[] = [];
  return {
    told,
    json(this: unknown, body: unknown) {
      told.push(['json', body]);
      return this;
    },
    setHeader(name: string, value: string) {
      told.push([name, value]);
    },
  };
}

describe('sendAsProblem', () => {
  it('labels the body when it is sent, and no other', () => {
    const body = { type: 'about:blank' };
    const response = fakeResponse();
    expect(sendAsProblem(response, body)).toBe(true);
    expect(response.told).toEqual([]);
    expect(response.json({ mine: true })).toBe(response);
    response.json(body);
    expect(response.told).toEqual([
      ['json', { mine: true }],
      ['Content-Type', 'application/problem+json'],
      ['json', body],
    ]);
  });

  it.each([undefined, null, {}, { header: () => undefined }])(
    'leaves other responses alone: %p',
    (response) => {
      expect(sendAsProblem(response, {})).toBe(false);
    },
  );
});
