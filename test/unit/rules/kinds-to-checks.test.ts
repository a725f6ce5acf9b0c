import { jest } from '@jest/globals';
import { ruleId } from '../../../src/core/counter-key.js';
import { FIXED_WINDOW } from '../../../src/core/counter-kind.js';
import { planOf } from '../../../src/rules/plan.js';
import type { Algorithm } from '../../../src/rules/rule.js';
import { type PlannedCheck, toChecks } from '../../../src/rules/to-checks.js';
import { CONTEXT, DEFAULTS, declared, OWNER, requestOf, thrownBy } from '../fixtures.js';

type Parts = Readonly<Record<string, unknown>>;

/** The checks of requests to a handler with these rules. */
function requests(...rules: readonly Parts[]): () => PlannedCheck[] {
  const declaredRules = rules.map((rule) => declared({ window: '1m', limit: 5, key: 'all', ...rule }));
  const plan = planOf([{ rules: declaredRules, skip: undefined }], OWNER, DEFAULTS);
  return () => toChecks(plan!, requestOf({}, '203.0.113.7'), CONTEXT, () => undefined) as PlannedCheck[];
}

function check(rule: Parts): PlannedCheck {
  return requests(rule)()[0]!;
}

const ID = ruleId('SmsController.send.x', ['handler', 'sms', 'send', 'x']);
const BERLIN = { calendar: 'month', timeZone: 'Europe/Berlin' };
const BUCKET = { algorithm: 'token-bucket' };
const day = (text: string): number => Date.parse(text);

beforeEach(() => {
  jest.useFakeTimers({ now: day('2026-03-15T12:00:00Z') });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('the check of a rule', () => {
  it.each<[string, Parts, Parts]>([
    ['60000', {}, { windowMs: 60_000, kind: FIXED_WINDOW }],
    ['60000s', { algorithm: 'sliding-window' }, { windowMs: 60_000, kind: { type: 'sliding-window' } }],
    ['60000b', BUCKET, { windowMs: 60_000, kind: { type: 'token-bucket', burst: 5 } }],
    ['60000b', { ...BUCKET, burst: 9 }, { windowMs: 60_000, kind: { type: 'token-bucket', burst: 9 } }],
    ['60000b', { ...BUCKET, limit: 0, burst: 9 }, { kind: { type: 'token-bucket', burst: 0 } }],
    [
      'month@europe/berlin',
      { window: BERLIN },
      {
        // a day with the change to summer time
        windowMs: 31 * 86_400_000 - 3_600_000,
        kind: {
          type: 'calendar',
          startsAtMs: day('2026-02-28T23:00:00Z'),
          endsAtMs: day('2026-03-31T22:00:00Z'),
          nextEndsAtMs: day('2026-04-30T22:00:00Z'),
        },
      },
    ],
    ['week+sunday@utc', { window: { calendar: 'week', startsAt: 'sunday' } }, { windowMs: 7 * 86_400_000 }],
  ])('has keys with the window %s: %j', (window, rule, parts) => {
    const group = `fl:${ID}:${window}:`;
    expect(check({ ...rule, name: 'x' })).toMatchObject({ ...parts, group, text: 'all', key: `${group}all` });
  });

  it('has another counter with another algorithm, and the same one with another limit or burst', () => {
    const keyOf = (rule: Parts): string => check({ name: 'x', ...rule }).key;
    const kinds = [{}, { algorithm: 'sliding-window' }, BUCKET, { window: BERLIN }, { window: '60s' }];
    expect(new Set(kinds.map(keyOf)).size).toBe(4);
    expect(keyOf({ ...BUCKET, burst: 7, limit: 3 })).toBe(keyOf(BUCKET));
    expect(keyOf({ window: { ...BERLIN, timeZone: 'UTC' } })).not.toBe(keyOf({ window: BERLIN }));
    expect(keyOf({ window: { ...BERLIN, startsAt: 2 } })).not.toBe(keyOf({ window: BERLIN }));
  });

  it('has the same parts for each request, as far as they are constants', () => {
    const send = requests(
      { algorithm: 'sliding-window', blockFor: '1h' },
      { ...BUCKET, burst: 9 },
      { ...BUCKET, name: 'default-burst' },
      { window: BERLIN },
    );
    const [first, second] = [send(), send()];
    first.forEach(({ kind, block, group }, i) => {
      expect(second[i]!.kind).toBe(kind);
      expect(second[i]!.block).toBe(block);
      expect(second[i]!.group).toBe(group);
    });
  });

  it('has the period of its time', () => {
    const send = requests({ window: BERLIN });
    const endOf = (): unknown => send()[0]!.kind;
    expect(endOf()).toMatchObject({ endsAtMs: day('2026-03-31T22:00:00Z') });
    jest.setSystemTime(day('2026-03-31T21:59:59.999Z'));
    expect(endOf()).toMatchObject({ endsAtMs: day('2026-03-31T22:00:00Z') });
    jest.setSystemTime(day('2026-03-31T22:00:00Z'));
    expect(endOf()).toMatchObject({ endsAtMs: day('2026-04-30T22:00:00Z') });
    expect(send()[0]!.windowMs).toBe(30 * 86_400_000);
    // a clock that was set back
    jest.setSystemTime(day('2026-01-15T00:00:00Z'));
    expect(endOf()).toMatchObject({ endsAtMs: day('2026-01-31T23:00:00Z') });
  });
});

describe('functions of a rule', () => {
  it('return the window, the limit and the burst of a token bucket', async () => {
    const rule = { ...BUCKET, window: () => '2m', limit: () => 7, burst: async () => 3, cost: () => 2 };
    const [first] = await Promise.resolve(requests(rule)());
    expect(first).toMatchObject({ windowMs: 120_000, limit: 7, cost: 2, kind: { burst: 3 } });
    expect(first!.group).toMatch(/:120000b:$/);
    expect(check({ ...BUCKET, limit: () => 7 })).toMatchObject({ kind: { burst: 7 } });
    expect(check({ ...BUCKET, limit: () => 0, burst: 9 })).toMatchObject({ kind: { burst: 0 } });
    expect(check({ algorithm: 'sliding-window', window: () => '2m' }).group).toMatch(/:120000s:$/);
  });

  it('return the time zone of a calendar, each with its own counters', () => {
    let timeZone = 'Europe/Berlin';
    const send = requests({ window: { calendar: 'day', timeZone: () => timeZone } });
    const [berlin] = send();
    timeZone = 'Asia/Tokyo';
    const [tokyo] = send();
    timeZone = 'Europe/Berlin';
    const [again] = send();
    expect(berlin).toMatchObject({ kind: { endsAtMs: day('2026-03-15T23:00:00Z') } });
    expect(tokyo).toMatchObject({ kind: { endsAtMs: day('2026-03-15T15:00:00Z') } });
    expect([berlin!.group, tokyo!.group].map((group) => group.split(':')[2])).toEqual([
      'day@europe/berlin',
      'day@asia/tokyo',
    ]);
    expect(again!.kind).toBe(berlin!.kind);
  });

  it.each<[string, Parts, string]>([
    [
      'a burst',
      { ...BUCKET, burst: () => -1 },
      'the burst function returned -1, which is not a whole number from 0 to 2^53 - 1',
    ],
    [
      'a time zone',
      { window: { calendar: 'day', timeZone: () => 'Mars/Base' } },
      'the timeZone function returned an invalid value: "Mars/Base" is not a time zone',
    ],
    [
      'no time zone',
      { window: { calendar: 'day', timeZone: () => undefined } },
      'the timeZone function returned an invalid value: undefined is not a time zone',
    ],
    [
      'a calendar as the window',
      { window: () => ({ calendar: 'month' }) },
      'the window function returned an invalid value: a calendar; write it without a function, as in ' +
        'window: { calendar, timeZone }: timeZone may be a function',
    ],
  ])('fail the request if they return %s that is wrong', async (_, rule, problem) => {
    await expect(requests({ ...rule, name: 'x' })()).rejects.toMatchObject({
      code: 'FREQ_LIMIT_RULE_FAILED',
      message: expect.stringContaining(`the handler, rule "x": ${problem}`),
    });
  });
});

describe('blockFor', () => {
  it('is a block with its lengths and when it is forgiven', () => {
    expect(check({ blockFor: '15m' }).block).toEqual({ stepsMs: [900_000], forgiveAfterMs: 86_400_000 });
    expect(check({ blockFor: ['1m', 600, '1d'] }).block).toEqual({
      stepsMs: [60_000, 600_000, 86_400_000],
      forgiveAfterMs: 864_000_000,
    });
    expect(check({ blockFor: ['1m', '1h'], forgiveAfter: '2h' }).block).toEqual({
      stepsMs: [60_000, 3_600_000],
      forgiveAfterMs: 7_200_000,
    });
    expect(check({ blockFor: '9007199254740991ms' }).block).toMatchObject({
      forgiveAfterMs: Number.MAX_SAFE_INTEGER,
    });
    expect(check({}).block).toBeUndefined();
  });

  it('does not apply to a shadow rule', () => {
    expect(check({ blockFor: '1h', shadow: true }).block).toBeUndefined();
  });

  it('belongs to each check, also to one that could never pass', () => {
    for (const rule of [{ limit: 0 }, { cost: 6 }, { ...BUCKET, burst: 2 }])
      expect(check({ blockFor: '1h', ...rule }).block).toBeDefined();
  });
});

describe('a shadow rule', () => {
  it.each<Parts>([{}, { algorithm: 'sliding-window' }, { ...BUCKET, burst: 9 }, { window: BERLIN }])(
    'has its limit in the store: %j',
    (rule) => {
      expect(check({ ...rule, shadow: true })).toMatchObject({ shadow: true, limit: 5 });
    },
  );
});

describe('rules without a name', () => {
  const plan = (...rules: readonly Parts[]): string[] => requests(...rules)().map(({ name }) => name);

  it('are called by their window, and may differ by their algorithm', () => {
    const rules = [{}, { algorithm: 'sliding-window' }, BUCKET, { window: BERLIN }];
    expect(plan(...rules)).toEqual(['1m', '1m-2', '1m-3', 'month']);
    expect(plan({ window: BERLIN }, { window: { calendar: 'month' } })).toEqual(['month', 'month-2']);
    expect(new Set(requests(...rules)().map(({ group }) => group.split(':')[1])).size).toBe(4);
  });

  it.each<[Parts, string]>([
    [{ algorithm: 'sliding-window' }, 'the window 1m, the algorithm sliding-window and the key all'],
    [{ ...BUCKET, burst: 9 }, 'the window 1m, the algorithm token-bucket and the key all'],
    [{ window: BERLIN }, 'the window month and the key all'],
    [{ window: { ...BERLIN, timeZone: () => 'UTC' } }, 'the window month and the key all'],
  ])('may not share a counter: %j', (rule, shared) => {
    expect(thrownBy(() => requests(rule, { ...rule, limit: 6 })).message).toContain(
      `two rules without a name have ${shared}, so they would share a counter`,
    );
  });

  it('keep the counters that they had before there were algorithms', () => {
    const algorithms: (Algorithm | undefined)[] = [undefined, 'fixed-window'];
    const id = ruleId('SmsController.send', ['handler', 'sms', 'send', '', 'all', '60000']);
    expect(algorithms.map((algorithm) => check({ algorithm }).key)).toEqual(
      algorithms.map(() => `fl:${id}:60000:all`),
    );
    const ofFunction = ruleId('SmsController.send', ['handler', 'sms', 'send', '', 'all', 'ƒ']);
    expect(check({ window: () => '1m' }).key).toBe(`fl:${ofFunction}:60000:all`);
  });
});
