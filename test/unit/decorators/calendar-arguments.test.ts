import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import { readRuleArguments } from '../../../src/decorators/rule-arguments.js';
import { handlerLevels } from '../../../src/rules/levels.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import { mistakeIn } from '../../../src/rules/rule-mistakes.js';
import { DEFAULTS, declared, OWNER, thrownBy } from '../fixtures.js';

const MONTH = { calendar: 'month' };
const BERLIN = { calendar: 'month', timeZone: 'Europe/Berlin' } as const;

describe('a calendar as the first argument of @FreqLimit', () => {
  const limit = () => 5;

  it.each<[string, unknown[], object]>([
    ['a limit', [BERLIN, 10_000], { window: BERLIN, limit: 10_000, key: undefined }],
    ['a function', [MONTH, limit], { window: MONTH, limit, key: undefined }],
    ['a limit and a key', [MONTH, 5, '{user.id}'], { window: MONTH, limit: 5, key: '{user.id}' }],
    ['a list as the key', [MONTH, 5, ['{ip}']], { window: MONTH, limit: 5, key: ['{ip}'] }],
    ['a typo', [{ calender: 'month' }, 5], { window: { calender: 'month' }, limit: 5, key: undefined }],
    ['a wrong limit', [MONTH, '5'], { window: MONTH, limit: '5', key: undefined }],
  ])('is the window of a rule, with %s', (_, given, rule) => {
    expect(readRuleArguments(given)).toEqual({ rule });
  });

  it('declares a rule', () => {
    class Controller {
      @FreqLimit(BERLIN, 10_000, '{user.tenant}')
      m(): void {}
    }
    const [{ rule } = declared({})] = handlerLevels(Controller, 'm')[0]!.rules;
    expect(planRule(declared(rule), OWNER, DEFAULTS)).toMatchObject({
      kindName: 'calendar',
      name: 'month',
      limit: 10_000,
      key: { spec: '{user.tenant}' },
    });
  });

  it.each<[string, unknown[], string]>([
    ['nothing', [MONTH], "the limit is missing; write @FreqLimit({ calendar: 'month' }, 5)"],
    [
      'undefined',
      [BERLIN, undefined],
      "the limit is missing; write @FreqLimit({ calendar: 'month', timeZone: 'Europe/Berlin' }, 5)",
    ],
    [
      'options of a rule in it',
      [{ ...MONTH, startsAt: 15, limit: 5 }],
      "the calendar belongs in the window; write @FreqLimit({ window: { calendar: 'month', startsAt: 15 }, limit: 5 })",
    ],
    [
      'options after it',
      [MONTH, { limit: 5 }],
      "for options next to the window, write one object: @FreqLimit({ window: { calendar: 'month' }, limit: 5, … })",
    ],
    [
      'options after the limit',
      [MONTH, 5, { name: 'a' }],
      "for options next to the window, write one object: @FreqLimit({ window: { calendar: 'month' }, limit: 5, … })",
    ],
    [
      'options after the key',
      [MONTH, 5, '{ip}', { name: 'a' }],
      "for options next to the window, write one object: @FreqLimit({ window: { calendar: 'month' }, limit: 5, … })",
    ],
    [
      'its unit alone',
      ['month', 10_000],
      '"month" is not a window; write @FreqLimit({ calendar: \'month\' }, 10000)',
    ],
  ])('is a mistake with %s', (_, given, problem) => {
    const { rule } = readRuleArguments(given) as { readonly rule: unknown };
    expect(mistakeIn(rule)).toBe(problem);
  });

  it('is not mistaken for a rule, and a rule not for a calendar', () => {
    expect(mistakeIn((readRuleArguments([{ window: '1m', limit: 5 }, 5]) as { rule: unknown }).rule)).toBe(
      'takes one object with all options of the rule, and nothing after it',
    );
    const { rule } = readRuleArguments([{ calender: 'month' }, 5]) as { readonly rule: unknown };
    expect(thrownBy(() => planRule(declared(rule), OWNER, DEFAULTS)).message).toBe(
      'the handler: window: calender: is not an option of a window; did you mean calendar?',
    );
  });
});
