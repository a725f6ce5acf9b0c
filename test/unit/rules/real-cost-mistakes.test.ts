import { defineRule } from '../../../src/rules/define-rule.js';
import { NamedRuleSet } from '../../../src/rules/named-rules.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import type { PlannedRule } from '../../../src/rules/planned-rule.js';
import { DEFAULTS, declared, OWNER, thrownBy } from '../fixtures.js';

type Parts = Readonly<Record<string, unknown>>;

const RULE = { window: '1m', limit: 10 };
const BUCKET = { algorithm: 'token-bucket' };
const PLACE = '@FreqLimit on ChatController.ask';

const plan = (parts: Parts): PlannedRule =>
  planRule(declared({ ...RULE, ...parts }, 'handler', PLACE), OWNER, DEFAULTS);

const A_SHARE = 'is not a number above 0 and at most 1, such as 0.5 for half of the limit';
const LOWER = 'so no request would ever pass; write a lower cost or a higher maxShare';

const WRONG: readonly [Parts, string][] = [
  [{ actualCost: 5 }, 'actualCost: 5 is not a function'],
  [{ actualCost: 'result.tokens' }, 'actualCost: "result.tokens" is not a function'],
  [{ actualCost: null }, 'actualCost: null is not a function'],
  [
    { cost: 0, actualCost: () => 1 },
    'actualCost: is not possible with cost: 0, which charges nothing that could be settled; write an estimate of at least 1 as cost',
  ],
  [{ maxShare: 0 }, `maxShare: 0 ${A_SHARE}`],
  [{ maxShare: 50 }, `maxShare: 50 ${A_SHARE}`],
  [{ maxShare: -0.1 }, `maxShare: -0.1 ${A_SHARE}`],
  [{ maxShare: () => 0.5 }, `maxShare: [function maxShare] ${A_SHARE}`],
  [
    { maxShare: '0.5' },
    `maxShare: "0.5" ${A_SHARE}; it is a string, perhaps from the environment: write Number(…)`,
  ],
  [
    { maxShare: NaN },
    `maxShare: NaN ${A_SHARE}; Number(undefined) is NaN: is an environment variable not set?`,
  ],
  [{ maxShare: 0.5, cost: 6 }, `cost: 6 is above the maxShare of 0.5, which is 5 of 10, ${LOWER}`],
  [{ maxShare: 0.01, cost: 2 }, `cost: 2 is above the maxShare of 0.01, which is 1 of 10, ${LOWER}`],
  [
    { ...BUCKET, burst: 4, maxShare: 0.5, cost: 3 },
    `cost: 3 is above the maxShare of 0.5, which is 2 of 4, ${LOWER}`,
  ],
  [
    { ...BUCKET, burst: 40, maxShare: 0.5, cost: 21 },
    `cost: 21 is above the maxShare of 0.5, which is 20 of 40, ${LOWER}`,
  ],
  // one line, the one of the burst
  [
    { ...BUCKET, maxShare: 0.5, cost: 11 },
    'cost: 11 is above the burst, which is the limit of 10, so no request would ever pass; write a lower cost, or burst: 11',
  ],
  [{ actualcost: () => 1 }, 'actualcost: is not an option; did you mean actualCost?'],
  [{ realCost: () => 1 }, 'realCost: is not an option; did you mean actualCost?'],
  [{ maxshare: 1 }, 'maxshare: is not an option; did you mean maxShare?'],
  [{ maxCost: 5 }, 'maxCost: is not an option; did you mean maxShare?'],
];

describe('a wrong real cost or share', () => {
  it.each(WRONG)('stops a rule: %j', (parts, message) => {
    const { code, problems } = thrownBy(() => plan(parts));
    expect([code, problems]).toEqual(['FREQ_LIMIT_INVALID_RULE', [`${PLACE}: ${message}`]]);
  });

  it.each(WRONG)('stops defineRule: %j', (parts, message) => {
    expect(thrownBy(() => defineRule({ ...RULE, ...parts })).problems).toEqual([`defineRule: ${message}`]);
  });

  it.each(WRONG)('stops an entry of namedRules: %j', (parts, message) => {
    const { errors } = new NamedRuleSet({ ask: { ...RULE, ...parts } as never }, DEFAULTS);
    expect(errors.flatMap(({ problems }) => problems)).toEqual([
      `namedRules.ask of FreqLimitModule: ${message}`,
    ]);
  });

  it('is found where a reference changes one of the options', () => {
    const named = new NamedRuleSet({ ask: { ...RULE, cost: 6 } as never }, DEFAULTS);
    const reference = {
      rule: { maxShare: 0.5 } as never,
      named: 'ask',
      level: 'handler',
      place: PLACE,
    } as const;
    const [rule] = named.resolve({ rules: [reference], skip: undefined }).rules;
    expect(thrownBy(() => planRule(rule!, OWNER, DEFAULTS)).problems).toEqual([
      `${PLACE}: cost: 6 is above the maxShare of 0.5, which is 5 of 10, ${LOWER}`,
    ]);
  });
});

describe('a right real cost or share', () => {
  const actualCost = () => 5;

  it.each<[string, Parts]>([
    ['an estimate that is a function', { cost: () => 0, actualCost }],
    ['a cost of exactly the share', { cost: 5, maxShare: 0.5 }],
    ['a cost of one unit, whatever the share', { maxShare: 0.001 }],
    ['a limit that is a function', { limit: () => 5, cost: 9, maxShare: 0.5 }],
    ['a cost that is a function', { cost: () => 99, maxShare: 0.5 }],
    ['a limit of 0, which denies every request', { limit: 0, cost: 5, maxShare: 0.5 }],
    ['a calendar', { window: { calendar: 'month' }, cost: 5, maxShare: 0.5, actualCost }],
    [
      'all kinds of options',
      { blockFor: '1h', countWhen: 'failure', countDenied: true, shadow: true, actualCost },
    ],
  ])('has %s', (_, parts) => {
    expect(() => plan(parts)).not.toThrow();
  });

  it('is undefined if it is not given', () => {
    expect(plan({ actualCost: undefined, maxShare: undefined })).toMatchObject({
      actualCost: undefined,
      maxShare: undefined,
    });
    expect(plan({ actualCost, maxShare: 1 })).toMatchObject({ actualCost, maxShare: 1 });
  });

  it('does not make a request wait', () => {
    expect(plan({ actualCost, maxShare: 0.5, key: 'all' }).isStatic).toBe(true);
  });
});
