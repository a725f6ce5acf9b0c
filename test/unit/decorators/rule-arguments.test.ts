import { readRuleArguments } from '../../../src/decorators/rule-arguments.js';
import { mistakeIn } from '../../../src/rules/rule-mistakes.js';

const rule = { window: '1m', limit: 5 };

describe('readRuleArguments', () => {
  it.each<[string, unknown[], object]>([
    ['a window and a limit', ['1m', 5], { rule: { window: '1m', limit: 5, key: undefined } }],
    ['a list as the key', ['1m', 5, ['{ip}']], { rule: { window: '1m', limit: 5, key: ['{ip}'] } }],
    ['an undefined key', ['1m', 5, undefined], { rule: { window: '1m', limit: 5, key: undefined } }],
    ['one object', [rule], { rule }],
    ['one object and undefined', [rule, undefined], { rule }],
    ['a name', ['login'], { named: 'login', changes: {} }],
    ['a name and changes', ['login', { limit: 3 }], { named: 'login', changes: { limit: 3 } }],
    ['a window without a unit', ['60', 5], { rule: { window: '60', limit: 5, key: undefined } }],
    ['an unknown unit', ['1week', 5], { rule: { window: '1week', limit: 5, key: undefined } }],
  ])('reads %s', (_, given, expected) => {
    expect(readRuleArguments(given)).toEqual(expected);
  });

  it.each<[string, unknown[], string]>([
    ['nothing', [], "arguments are missing; write @FreqLimit('1m', 5)"],
    [
      'undefined',
      [undefined],
      "undefined is not a rule; write each rule as an object such as { window: '1m', limit: 5 }. If it is imported, two files may import each other",
    ],
    ['a list', [[rule]], 'takes one rule, not a list; write one @FreqLimit for each rule'],
    ['two objects', [rule, rule], 'takes one object with all options of the rule, and nothing after it'],
    ['an object and a key', [rule, '{ip}'], 'takes one object with all options of the rule'],
    ['an object and a third argument', [rule, undefined, '{ip}'], 'takes one object with all options'],
    [
      'options after the limit',
      ['1m', 5, { key: '{ip}' }],
      "the arguments are window, limit and key; write other options in one object: @FreqLimit({ window: '1m', limit: 5, … })",
    ],
    ['options after the key', ['1m', 5, '{ip}', { name: 'a' }], 'write other options in one object'],
    ['a window alone', ['1m'], "the limit is missing; write @FreqLimit('1m', 5)"],
    ['an undefined limit', ['15m', undefined], "the limit is missing; write @FreqLimit('15m', 5)"],
    [
      'a window and options',
      ['1h', { limit: 5 }],
      "for options next to the window, write one object: @FreqLimit({ window: '1h', limit: 5, … })",
    ],
    ['a limit before the window', [5, '1m'], "the window comes first; write @FreqLimit('1m', 5)"],
    [
      'a name and a limit',
      ['login', 3],
      "\"login\" is not a window; for a rule with this name, write @FreqLimit({ name: 'login', window: '1m', limit: 3 }); " +
        "to change the rule of namedRules, write @FreqLimit('login', { limit: 3 })",
    ],
    ['a name, a window and a limit', ['login', '1h', 3], "{ name: 'login', window: '1h', limit: 3 }"],
    ['a name, a limit and a window', ['login', 3, '1h'], "{ name: 'login', window: '1h', limit: 3 }"],
    [
      'a sentence',
      ['5 per minute'],
      '"5 per minute" is neither a window nor the name of a rule; write @FreqLimit(\'1m\', 5)',
    ],
    ['a fraction', ['5/1m'], '"5/1m" is neither a window nor the name of a rule'],
  ])('keeps what is wrong with %s', (_, given, problem) => {
    const { rule: kept } = readRuleArguments(given) as { readonly rule: unknown };
    expect(mistakeIn(kept)).toContain(problem);
  });

  it('reads the options of a class, also those that its instances inherit', () => {
    const login = Object.assign(Object.create({ key: '{body.user}' }) as object, { window: '15m', limit: 5 });
    const options = { window: '15m', limit: 5, key: '{body.user}' };
    expect(readRuleArguments([login])).toEqual({ rule: options });
    expect(readRuleArguments(['login', login])).toEqual({ named: 'login', changes: options });
  });

  it('keeps the mistake of each decorator apart', () => {
    const [one, other] = [readRuleArguments([]), readRuleArguments([])] as { readonly rule: unknown }[];
    expect(one!.rule).not.toBe(other!.rule);
  });
});
