import { FreqLimitError } from '../../../src/core/errors.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import type { Owner, PlannedRule, RuleDefaults } from '../../../src/rules/planned-rule.js';
import type { Scope } from '../../../src/rules/rule.js';
import { DEFAULTS, declared, OWNER, thrownBy } from '../fixtures.js';

const RULE = { window: '1m', limit: 5 };
const PLACE = '@FreqLimit on SmsController.send';

function plan(
  rule: unknown,
  level: Scope = 'handler',
  owner: Owner = OWNER,
  defaults: RuleDefaults = DEFAULTS,
): PlannedRule {
  return planRule(declared(rule, level, PLACE), owner, defaults);
}

describe('planRule', () => {
  it('fills in the defaults', () => {
    expect(plan(RULE)).toMatchObject({
      declaredName: undefined,
      name: '1m',
      place: PLACE,
      scope: 'handler',
      window: 60_000,
      limit: 5,
      cost: 1,
      onMissingKey: 'ip',
      countDenied: false,
      onStoreError: 'memory',
      skipIf: undefined,
      key: { spec: '{ip}' },
    });
  });

  it('takes the defaults of the module', () => {
    const defaults = {
      ...DEFAULTS,
      defaultKey: '{user.id}',
      onMissingKey: 'deny',
      countDenied: true,
      onStoreError: 'deny',
    } as const;
    expect(plan(RULE, 'handler', OWNER, defaults)).toMatchObject({
      key: { spec: '{user.id}' },
      onMissingKey: 'deny',
      countDenied: true,
      onStoreError: 'deny',
    });
  });

  it('keeps the options of the rule, zeros and false included', () => {
    const skipIf = (): boolean => false;
    const rule = {
      window: 10,
      limit: 0,
      key: 'all',
      name: 'daily',
      scope: 'app',
      onMissingKey: 'skip',
      cost: 0,
      countDenied: false,
      onStoreError: 'allow',
      skipIf,
    };
    expect(
      plan(rule, 'handler', OWNER, { ...DEFAULTS, countDenied: true, onStoreError: 'deny' }),
    ).toMatchObject({
      declaredName: 'daily',
      name: 'daily',
      scope: 'app',
      window: 10_000,
      limit: 0,
      cost: 0,
      onMissingKey: 'skip',
      countDenied: false,
      onStoreError: 'allow',
      skipIf,
    });
  });

  it('treats undefined as not given', () => {
    const rule = { ...RULE, key: undefined, name: undefined, scope: undefined, onMissingKey: undefined };
    const more = { cost: undefined, countDenied: undefined, onStoreError: undefined, skipIf: undefined };
    expect(plan({ ...rule, ...more }).id).toBe(plan(RULE).id);
  });

  it('calls a rule whose window is a function limit', () => {
    expect(plan({ window: () => '1m', limit: 1 }).name).toBe('limit');
  });

  it('accepts the largest limit', () => {
    expect(plan({ ...RULE, limit: Number.MAX_SAFE_INTEGER }).limit).toBe(Number.MAX_SAFE_INTEGER);
  });
});

const COUNT = 'a whole number from 0 to 2^53 - 1';
const NAME = 'a name of 1 to 64 characters';

describe('a wrong rule', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ...[0, -1, NaN, Infinity, '0s', '', '1 fortnight', null, {}].map(
      (window): [string, Record<string, unknown>, string] => [
        'window',
        { window },
        'is not a window; expected a string with a unit',
      ],
    ),
    ['window', { window: '60' }, "is not a window, because its unit is missing; write '60s' or Number('60')"],
    ['limit', { limit: '5' }, 'perhaps from the environment: write Number(…) or use defineRule'],
    ['cost', { cost: '2' }, 'perhaps from the environment: write Number(…) or use defineRule'],
    ['statusCode', { statusCode: '429' }, 'perhaps from the environment: write Number(…)'],
    ['shadow', { shadow: 'true' }, "perhaps from the environment: write … === 'true'"],
    ...[NaN, '5', -1, 2.5, Infinity, 2 ** 53, null, 5n, {}].map(
      (limit): [string, Record<string, unknown>, string] => [
        'limit',
        { limit },
        `is not ${COUNT}, or a function`,
      ],
    ),
    ['window', { window: undefined }, "is missing; expected a string with a unit, such as '1m'"],
    ['limit', { limit: undefined }, `is missing; expected ${COUNT}, or a function`],
    ...[-1, NaN, 1.5, '2', 2 ** 53, null].map((cost): [string, Record<string, unknown>, string] => [
      'cost',
      { cost },
      `is not ${COUNT}, or a function`,
    ]),
    ['key', { key: 'ip' }, "for the value write '{ip}'"],
    ['key', { key: '' }, 'an empty string is not a key'],
    ['key', { key: '{session.id}' }, 'placeholders begin with ip, user, body, params, query, headers'],
    ['key', { key: 5 }, 'is not a key; use a template'],
    ['key', { key: null }, 'is not a key; use a template'],
    ...['', 'a b', '-a', 'a"b', 'a,b', 'a\nb', 'ü', 'x'.repeat(65), 5, null].map(
      (name): [string, Record<string, unknown>, string] => ['name', { name }, NAME],
    ),
    ['scope', { scope: 'route' }, "is not one of 'handler', 'controller', 'app'"],
    ['scope', { scope: null }, "is not one of 'handler', 'controller', 'app'"],
    ['onMissingKey', { onMissingKey: 'allow' }, "is not one of 'ip', 'skip', 'deny'"],
    ['countDenied', { countDenied: 'yes' }, 'is not true or false'],
    ['onStoreError', { onStoreError: 'open' }, "is not one of 'memory', 'allow', 'deny'"],
    ['onStoreError', { onStoreError: null }, "is not one of 'memory', 'allow', 'deny'"],
    ['skipIf', { skipIf: true }, 'is not a function'],
    ['ttl', { ttl: 60_000 }, "is not an option; did you mean window: '1m'?"],
    ['windowMs', { windowMs: 60_000 }, "did you mean window: '1m'?"],
    ['windowMs', { windowMs: () => 1 }, 'did you mean window?'],
    ['max', { max: 5 }, 'did you mean limit?'],
    ['points', { points: 5 }, 'did you mean limit?'],
    ['keyGenerator', { keyGenerator: () => 'x' }, 'did you mean key?'],
    ['getTracker', { getTracker: () => 'x' }, 'did you mean key?'],
    ['skip', { skip: () => true }, 'did you mean skipIf?'],
    ['weight', { weight: 1 }, 'did you mean cost?'],
    ['blockDuration', { blockDuration: 60_000 }, "is not an option; did you mean blockFor: '1m'?"],
    ['colour', { colour: 1 }, 'is not an option (options: window, limit, key'],
  ])('throws for its %s: %j', (option, parts, problem) => {
    const error = thrownBy(() => plan({ ...RULE, ...parts }));
    expect(error).toBeInstanceOf(FreqLimitError);
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toMatch(`${PLACE}: ${option}: `);
    expect(error.message).toContain(problem);
  });

  it.each([[null], ['1m'], [5]])('throws for %p', (rule) => {
    const error = thrownBy(() => plan(rule));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toMatch(`${PLACE}: `);
    expect(error.message).toContain(
      "is not a rule; write each rule as an object such as { window: '1m', limit: 5 }",
    );
  });

  it('has a line for each wrong option', () => {
    const { code, problems } = thrownBy(() => plan({ window: '1x', limit: -1, ttl: 5, scope: 'route' }));
    expect(code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(problems.map((line) => line.slice(PLACE.length, PLACE.length + 9))).toEqual([
      ': ttl: is',
      ': window:',
      ': limit: ',
      ': scope: ',
    ]);
  });

  it('is not compared with a key that is wrong itself', () => {
    const wrongKey = { window: '1m', limit: 1, key: 5, normalize: { 'body.email': 'email' } };
    expect(thrownBy(() => plan(wrongKey)).problems).toEqual([
      expect.stringContaining(': key: 5 is not a key'),
    ]);
    const error = new FreqLimitError('FREQ_LIMIT_INVALID_OPTIONS', 'defaultKey: wrong');
    const defaults = { ...DEFAULTS, errors: new Map([['defaultKey', error]]) };
    const withDefault = { ...wrongKey, key: undefined };
    expect(thrownBy(() => plan(withDefault, 'handler', OWNER, defaults))).toBe(error);
  });

  it('keeps its message on one line whatever the rule contains', () => {
    expect(thrownBy(() => plan({ ...RULE, name: 'a\nforged line' })).message).not.toContain('\n');
  });
});
