import { FreqLimitError } from '../../../src/core/errors.js';
import { defineRule } from '../../../src/rules/define-rule.js';
import { NamedRuleSet } from '../../../src/rules/named-rules.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import type { PlannedRule } from '../../../src/rules/planned-rule.js';
import type { Algorithm } from '../../../src/rules/rule.js';
import { DEFAULTS, declared, OWNER, thrownBy } from '../fixtures.js';

const RULE = { window: '1m', limit: 5 };
const MONTH = { window: { calendar: 'month' } };
const BUCKET = { algorithm: 'token-bucket' };
const PLACE = '@FreqLimit on SmsController.send';

type Parts = Readonly<Record<string, unknown>>;

function plan(parts: Parts, algorithm: Algorithm = 'fixed-window'): PlannedRule {
  return planRule(declared({ ...RULE, ...parts }, 'handler', PLACE), OWNER, { ...DEFAULTS, algorithm });
}

const UNTIL_END = 'is not possible with a calendar window, which counts until its period ends';

const WRONG: readonly [Parts, string][] = [
  [
    { ...MONTH, algorithm: 'sliding-window' },
    `algorithm: 'sliding-window' ${UNTIL_END}; remove algorithm, or write a window of a length, such as '30d'`,
  ],
  [
    { ...MONTH, algorithm: 'fixed-window' },
    `algorithm: 'fixed-window' ${UNTIL_END}; remove algorithm, or write a window of a length, such as '30d'`,
  ],
  [{ ...MONTH, burst: 5 }, `burst: ${UNTIL_END}; remove burst`],
  [
    { ...MONTH, blockFor: '1h' },
    'blockFor: is not possible with a calendar window, which denies a client until its period ends; remove blockFor, or write a ' +
      "window of a length, such as '1d'",
  ],
  [{ burst: 10 }, "burst: is only possible with algorithm: 'token-bucket'; add that, or remove burst"],
  [
    { algorithm: 'fixed-window', burst: () => 10 },
    "burst: is only possible with algorithm: 'token-bucket'; add that, or remove burst",
  ],
  [
    { algorithm: 'sliding-window', burst: 0 },
    "burst: is only possible with algorithm: 'token-bucket'; add that, or remove burst",
  ],
  [
    { ...BUCKET, cost: 6 },
    'cost: 6 is above the burst, which is the limit of 5, so no request would ever pass; write a lower cost, or burst: 6',
  ],
  [
    { ...BUCKET, burst: 3, cost: 4, limit: () => 100 },
    'cost: 4 is above the burst of 3, so no request would ever pass; write a lower cost, or burst: 4',
  ],
  [
    { ...BUCKET, window: '365d', limit: 1, burst: 1_000_000 },
    'burst: a bucket of 1000000 units would need more than 2^53 - 1 ms to fill; write a lower burst, a higher limit or a ' +
      'shorter window',
  ],
  [{ forgiveAfter: '1d' }, 'forgiveAfter: is only possible with blockFor; add that, or remove forgiveAfter'],
];

const NOT_A_LENGTH =
  "is not a length of time; expected a string with a unit ('500ms', '10s', '1m', '1h', '1d') or a number of seconds, from 1 ms to 2^53 - 1 ms";

const WRONG_ALONE: readonly [Parts, string][] = [
  [
    { algorithm: 'sliding' },
    "algorithm: \"sliding\" is not one of 'fixed-window', 'sliding-window', 'token-bucket'",
  ],
  [{ algorithm: null }, "algorithm: null is not one of 'fixed-window', 'sliding-window', 'token-bucket'"],
  [
    { ...BUCKET, burst: '5' },
    'burst: "5" is not a whole number from 0 to 2^53 - 1, or a function; it is a string, perhaps from the environment: ' +
      'write Number(…) or use defineRule',
  ],
  [{ ...BUCKET, burst: -1 }, 'burst: -1 is not a whole number from 0 to 2^53 - 1, or a function'],
  [{ blockFor: '1 hour' }, `blockFor: "1 hour" ${NOT_A_LENGTH}`],
  [{ blockFor: 0 }, `blockFor: 0 ${NOT_A_LENGTH}`],
  [{ blockFor: true }, `blockFor: true ${NOT_A_LENGTH}`],
  [
    { blockFor: ['1m', '60'] },
    "blockFor: \"60\" is not a length of time, because its unit is missing; write '60s' or Number('60') for seconds, '60ms' for milliseconds",
  ],
  [
    { blockFor: [] },
    "blockFor: a list of 0 lengths is not possible; write 1 to 10, such as ['1m', '10m', '1h']",
  ],
  [
    { blockFor: Array<string>(11).fill('1m') },
    "blockFor: a list of 11 lengths is not possible; write 1 to 10, such as ['1m', '10m', '1h']",
  ],
  [
    { blockFor: ['1h', '10m'] },
    'blockFor: "10m" is shorter than "1h" before it; write the shortest length first',
  ],
  [{ blockFor: '1h', forgiveAfter: '1 day' }, `forgiveAfter: "1 day" ${NOT_A_LENGTH}`],
  [
    { window: 'month' },
    'window: "month" is not a window; for a month of the calendar write { calendar: \'month\' }',
  ],
  [
    { window: '1 week' },
    'window: "1 week" is not a window; for a week of the calendar write { calendar: \'week\' }',
  ],
  [
    { window: { calendar: 'mont' } },
    "window: calendar: \"mont\" is not one of 'minute', 'hour', 'day', 'week', 'month', 'year'; did you mean 'month'?",
  ],
  [
    { window: { calender: 'month' } },
    'window: calender: is not an option of a window; did you mean calendar?',
  ],
  [
    { window: { calendar: 'month', timeZone: 'Europe/Berlim' } },
    'window: timeZone: "Europe/Berlim" is not a time zone',
  ],
  [
    { timeZone: 'UTC' },
    "timeZone: is not an option; it belongs in the window: window: { calendar: 'month', timeZone: 'Europe/Berlin' }",
  ],
  [
    { calendar: 'month' },
    "calendar: is not an option; it belongs in the window: window: { calendar: 'month', timeZone: 'Europe/Berlin' }",
  ],
  [{ capacity: 5 }, 'capacity: is not an option; did you mean burst?'],
  [{ algoritm: 'sliding-window' }, 'algoritm: is not an option; did you mean algorithm?'],
  [{ blockDuration: 900 }, "blockDuration: is not an option; did you mean blockFor: '15m'?"],
];

describe('a wrong combination of options', () => {
  it.each(WRONG)('stops a rule: %j', (parts, message) => {
    const error = thrownBy(() => plan(parts));
    expect(error).toBeInstanceOf(FreqLimitError);
    expect(error).toMatchObject({
      code: 'FREQ_LIMIT_INVALID_RULE',
      problems: [`${PLACE}: ${message}`],
    });
  });

  it.each(WRONG)('stops defineRule: %j', (parts, message) => {
    const { code, problems } = thrownBy(() => defineRule({ ...RULE, ...parts }));
    expect([code, problems]).toEqual(['FREQ_LIMIT_INVALID_RULE', [`defineRule: ${message}`]]);
  });

  it.each(WRONG)('stops an entry of namedRules: %j', (parts, message) => {
    const { errors } = new NamedRuleSet({ login: { ...RULE, ...parts } as never }, DEFAULTS);
    expect(errors.flatMap(({ problems }) => problems)).toEqual([
      `namedRules.login of FreqLimitModule: ${message}`,
    ]);
  });

  it('is found where a reference changes one of the options', () => {
    const named = new NamedRuleSet({ login: { ...RULE, ...BUCKET, burst: 8 } as never }, DEFAULTS);
    const resolve = (changes: Parts) => {
      const reference = { rule: changes as never, named: 'login', level: 'handler', place: PLACE } as const;
      const [rule] = named.resolve({ rules: [reference], skip: undefined }).rules;
      return planRule(rule!, OWNER, DEFAULTS);
    };
    expect(resolve({ burst: 9 })).toMatchObject({ kindName: 'token-bucket', burst: 9 });
    expect(thrownBy(() => resolve({ algorithm: 'sliding-window' })).message).toBe(
      `${PLACE}: burst: is only possible with algorithm: 'token-bucket'; add that, or remove burst`,
    );
    expect(thrownBy(() => resolve({ cost: 9 })).message).toContain('cost: 9 is above the burst of 8');
    expect(thrownBy(() => resolve(MONTH)).problems).toEqual([
      expect.stringContaining("algorithm: 'token-bucket' is not possible with a calendar window"),
    ]);
  });

  it('has a line for each', () => {
    const wrong = { ...MONTH, blockFor: '1h', burst: 5 };
    expect(thrownBy(() => plan(wrong)).problems.map((line) => line.slice(PLACE.length))).toEqual([
      expect.stringMatching(/^: burst: /),
      expect.stringMatching(/^: blockFor: /),
    ]);
  });

  it('is not looked for in options that are wrong themselves', () => {
    expect(thrownBy(() => plan({ algorithm: 'bucket', burst: 5, cost: 6 })).problems).toHaveLength(1);
    expect(thrownBy(() => plan({ window: { calendar: 'mont' }, burst: 5 })).problems).toHaveLength(1);
    expect(thrownBy(() => plan({ blockFor: [], forgiveAfter: '1h' })).problems).toHaveLength(1);
  });
});

describe('a wrong value', () => {
  it.each(WRONG_ALONE)('stops a rule: %j', (parts, message) => {
    expect(thrownBy(() => plan(parts)).problems).toEqual([expect.stringContaining(`${PLACE}: ${message}`)]);
  });
});

describe('a right combination of options', () => {
  const all = {
    key: '{user.id}',
    normalize: 'email',
    name: 'all',
    scope: 'app',
    onMissingKey: 'deny',
    cost: () => 2,
    countDenied: true,
    onStoreError: 'deny',
    skipIf: () => false,
    countWhen: 'failure',
    statusCode: 400,
    message: 'no',
    hidden: true,
    limit: () => 5,
  };
  const functions = { window: () => '1m' };

  it.each<[string, Parts]>([
    ['fixed-window', { ...functions, shadow: true, blockFor: '1h' }],
    ['sliding-window', { algorithm: 'sliding-window', ...functions, shadow: true, blockFor: ['1m', '1h'] }],
    [
      'token-bucket',
      { ...BUCKET, ...functions, burst: () => 9, shadow: true, blockFor: 60, forgiveAfter: '1d' },
    ],
    ['calendar', { window: { calendar: 'month', timeZone: () => 'UTC' }, shadow: true }],
  ])('has a %s with every option that works with it', (kindName, parts) => {
    expect(plan({ ...all, ...parts })).toMatchObject({ kindName, hidden: true, countDenied: true });
  });

  it('lets a limit or a burst of 0 deny every request', () => {
    expect(plan({ ...BUCKET, limit: 0 })).toMatchObject({ limit: 0 });
    expect(plan({ ...BUCKET, limit: 0, burst: 5, cost: 9 })).toMatchObject({ burst: 5 });
    expect(plan({ ...BUCKET, burst: 0, cost: 2 })).toMatchObject({ burst: 0 });
  });

  it('lets blocks be forgiven after any time', () => {
    const block = { blockFor: ['1m', '1h'], forgiveAfter: '1s' };
    expect(plan(block).block).toEqual({ stepsMs: [60_000, 3_600_000], forgiveAfterMs: 1_000 });
  });

  it('treats undefined as not given', () => {
    const undefineds = {
      algorithm: undefined,
      burst: undefined,
      blockFor: undefined,
      forgiveAfter: undefined,
    };
    expect(plan({ ...MONTH, ...undefineds })).toMatchObject({ kindName: 'calendar', block: undefined });
    expect(plan(undefineds).kindName).toBe('fixed-window');
  });
});

describe('the algorithm of the module', () => {
  it('applies to rules without their own, and not to a calendar', () => {
    expect(plan({}, 'sliding-window').kindName).toBe('sliding-window');
    expect(plan({ algorithm: 'fixed-window' }, 'sliding-window').kindName).toBe('fixed-window');
    expect(plan(MONTH, 'sliding-window').kindName).toBe('calendar');
    expect(plan({ ...MONTH, blockFor: undefined }, 'token-bucket').kindName).toBe('calendar');
  });

  it('is compared with the other options, but a burst needs the algorithm of its rule', () => {
    expect(thrownBy(() => plan({ cost: 6 }, 'token-bucket')).message).toMatch(
      /cost: 6 is above the burst.*write a lower cost, or algorithm: 'token-bucket', burst: 6$/,
    );
    expect(plan({ cost: 6, algorithm: 'token-bucket', burst: 6 }, 'token-bucket').burst).toBe(6);
    expect(thrownBy(() => plan({ burst: 6 }, 'token-bucket')).message).toContain(
      "burst: is only possible with algorithm: 'token-bucket'; add that",
    );
    const { errors } = new NamedRuleSet(
      { try: { window: '1m', limit: 5, cost: 6 } },
      { ...DEFAULTS, algorithm: 'token-bucket' },
    );
    expect(errors).toHaveLength(1);
  });
});
