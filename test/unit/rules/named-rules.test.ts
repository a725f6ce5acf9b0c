import { invalidOptions } from '../../../src/core/errors.js';
import { NamedRuleSet } from '../../../src/rules/named-rules.js';
import type { DeclaredRule } from '../../../src/rules/planned-rule.js';
import type { AnyRule } from '../../../src/rules/rule.js';
import { declared, DEFAULTS, thrownBy } from '../fixtures.js';

const LOGIN = { window: '15m', limit: 5, key: '{ip}' } as const;

const setOf = (rules: Record<string, unknown>): NamedRuleSet => new NamedRuleSet(rules as never, DEFAULTS);
const resolve = (rules: Record<string, unknown>, named: string, changes: unknown = {}): AnyRule | undefined =>
  ruleOf(setOf(rules).resolve({ rules: [{ ...declared(changes), named }], skip: undefined }).rules[0]!);

function ruleOf({ rule, error }: DeclaredRule): AnyRule {
  if (error !== undefined) throw error;
  return rule;
}

describe('NamedRuleSet', () => {
  it('resolves a reference to the rule of its name, at the place of the reference', () => {
    const level = { rules: [{ ...declared({}, 'controller', 'here'), named: 'login' }], skip: undefined };
    expect(setOf({ login: LOGIN }).resolve(level).rules).toEqual([
      {
        rule: { ...LOGIN, name: 'login' },
        level: 'controller',
        place: 'here',
        keyPlace: 'namedRules.login of FreqLimitModule',
      },
    ]);
  });

  it('keeps the options that a rule inherits from its class', () => {
    const login = Object.assign(Object.create({ key: '{body.user}' }) as object, { window: '15m', limit: 5 });
    expect(resolve({ login }, 'login')).toMatchObject({ limit: 5, key: '{body.user}' });
  });

  it('knows that the key is at the reference if it changes the key', () => {
    const level = {
      rules: [{ ...declared({ key: '{ip}' }, 'handler', 'here'), named: 'login' }],
      skip: undefined,
    };
    expect(setOf({ login: LOGIN }).resolve(level).rules).toMatchObject([{ place: 'here', keyPlace: 'here' }]);
  });

  it('does not change declared rules', () => {
    const level = { rules: [declared(LOGIN)], skip: undefined };
    expect(setOf({}).resolve(level)).toBe(level);
  });

  it('lets a reference change options, and ignores undefined', () => {
    expect(resolve({ login: LOGIN }, 'login', { limit: 3, key: undefined })).toEqual({
      ...LOGIN,
      limit: 3,
      name: 'login',
    });
  });

  it.each([
    [
      'an unknown name',
      'logn',
      {},
      'no rule in namedRules of FreqLimitModule has the name "logn"; existing names: login',
    ],
    ['the name of a property of every object', 'constructor', {}, 'has the name "constructor"'],
    ['a window', '1m', {}, "for a rule with this window, add its limit: @FreqLimit('1m', limit)"],
    [
      'another name',
      'login',
      { name: 'x' },
      'the handler: "login": name: the rule already has a name in namedRules',
    ],
    ['an unknown change', 'login', { max: 3 }, '"login": max: is not an option; did you mean limit?'],
  ])('throws for a reference with %s', (_, named, changes, message) => {
    const error = thrownBy(() => resolve({ login: LOGIN }, named, changes));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toContain(message);
    expect(error.message.startsWith('the handler: ')).toBe(true);
  });

  it('reports all mistakes of a rule, and of a reference', () => {
    const { errors } = setOf({ 'a b': { name: 'x', limit: -1, ttl: 5 } });
    expect(errors.flatMap(({ problems }) => problems)).toEqual([
      expect.stringMatching(/^namedRules of FreqLimitModule: "a b" is not a name of 1 to 64/),
      expect.stringMatching(
        /^namedRules of FreqLimitModule: "a b": ttl: is not an option; did you mean window: '5s'\?/,
      ),
      expect.stringMatching(/^namedRules of FreqLimitModule: "a b": limit: -1 is not/),
      expect.stringMatching(/^namedRules of FreqLimitModule: "a b": name: the rule already has a name in/),
    ]);
    const changes = { name: 'x', limit: -1, ttl: 5 };
    expect(thrownBy(() => resolve({ login: LOGIN }, 'logn', changes)).problems).toEqual([
      expect.stringMatching(/^the handler: no rule in namedRules of FreqLimitModule has the name "logn"/),
      expect.stringMatching(/^the handler: "logn": ttl: is not an option/),
      expect.stringMatching(/^the handler: "logn": limit: -1 is not/),
      expect.stringMatching(/^the handler: "logn": name: the rule already has a name in/),
    ]);
  });

  it('does not list the name among the options', () => {
    const [error] = setOf({ login: { ...LOGIN, colour: 'red' } }).errors;
    expect(error?.message).toMatch(/\(options: window, limit, key, normalize, scope, /);
  });

  it('does not know its names if the option itself is wrong', () => {
    const wrong = invalidOptions('FreqLimitModule: namedRules: 5 is not an object');
    const rules = new NamedRuleSet({}, { ...DEFAULTS, errors: new Map([['namedRules', wrong]]) });
    const level = { rules: [{ ...declared({}), named: 'login' }], skip: undefined };
    expect(rules.resolve(level).rules.map(({ error }) => error)).toEqual([wrong]);
  });

  it('says so if there are no names', () => {
    expect(thrownBy(() => resolve({}, 'login')).message).toContain('existing names: none');
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      'a wrong limit',
      { login: { ...LOGIN, limit: '5' } },
      'namedRules.login of FreqLimitModule: limit: "5" is not',
    ],
    ['a name of its own', { login: { ...LOGIN, name: 'x' } }, 'namedRules.login of FreqLimitModule: name: '],
    ['an unknown option', { login: { ...LOGIN, ttl: 1 } }, "did you mean window: '1s'?"],
    [
      'a number in place of a rule',
      { login: 5 },
      'namedRules.login of FreqLimitModule: 5 is not an object with the options window, limit',
    ],
    ['null', { login: null }, 'null is not an object'],
    ['a wrong name', { 'a b': LOGIN }, 'namedRules of FreqLimitModule: "a b" is not a name of 1 to 64'],
    ['a name like a window', { '1m': LOGIN }, '"1m" looks like a window; choose another name'],
    ['a wrong key', { login: { ...LOGIN, key: 'ip' } }, 'key: '],
  ])('reports a rule with %s, and throws its error for each reference', (_, rules, message) => {
    const problems = setOf(rules).errors.map(({ message }) => message);
    expect(problems).toEqual([expect.stringContaining(message)]);
    const [name] = Object.keys(rules);
    expect(thrownBy(() => resolve(rules, name!)).message).toBe(problems[0]);
  });

  it('accepts every scope', () => {
    for (const scope of ['handler', 'controller', 'app'])
      expect(setOf({ login: { ...LOGIN, scope } }).errors).toEqual([]);
  });
});
