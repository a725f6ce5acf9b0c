import { NamedRuleSet } from '../../../src/rules/named-rules.js';
import type { FreqLimitRule } from '../../../src/rules/rule.js';
import { declared, DEFAULTS, thrownBy } from '../fixtures.js';

const LOGIN = { window: '15m', limit: 5, key: '{ip}' } as const;

const tableOf = (table: Record<string, unknown>): NamedRuleSet => new NamedRuleSet(table as never, DEFAULTS);
const meant = (
  table: Record<string, unknown>,
  named: string,
  changes: unknown = {},
): FreqLimitRule | undefined =>
  tableOf(table).resolve({ rules: [{ ...declared(changes), named }], skip: undefined }).rules[0]?.rule;

describe('a table of named rules', () => {
  it('gives a reference the rule under its name, where the reference stands', () => {
    const level = { rules: [{ ...declared({}, 'controller', 'here'), named: 'login' }], skip: undefined };
    expect(tableOf({ login: LOGIN }).resolve(level).rules).toEqual([
      { rule: { ...LOGIN, name: 'login' }, level: 'controller', place: 'here' },
    ]);
  });

  it('leaves declared rules as they are', () => {
    const level = { rules: [declared(LOGIN)], skip: undefined };
    expect(tableOf({}).resolve(level)).toBe(level);
  });

  it('lets a reference change parts, and takes undefined as nothing', () => {
    expect(meant({ login: LOGIN }, 'login', { limit: 3, key: undefined })).toEqual({
      ...LOGIN,
      limit: 3,
      name: 'login',
    });
  });

  it.each([
    [
      'a name nobody knows',
      'logn',
      {},
      'there is no rule called "logn" in namedRules of FreqLimitModule; the names are login',
    ],
    ['a name of every object', 'constructor', {}, 'no rule called "constructor"'],
    ['a window', '1m', {}, "it looks like a window, and then its limit is missing: @FreqLimit('1m', limit)"],
    [
      'another name',
      'login',
      { name: 'x' },
      'the handler: "login": name: a named rule is called by its name',
    ],
    ['an unknown change', 'login', { max: 3 }, '"login": max: is not known here; did you mean limit?'],
  ])('refuses a reference with %s', (_, named, changes, message) => {
    const error = thrownBy(() => meant({ login: LOGIN }, named, changes));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toContain(message);
    expect(error.message.startsWith('the handler: ')).toBe(true);
  });

  it('says so where there are no names', () => {
    expect(thrownBy(() => meant({}, 'login')).message).toContain('the names are none');
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      'a limit that is none',
      { login: { ...LOGIN, limit: '5' } },
      'namedRules.login of FreqLimitModule: limit: "5" is not',
    ],
    ['a name of its own', { login: { ...LOGIN, name: 'x' } }, 'namedRules.login of FreqLimitModule: name: '],
    ['an unknown option', { login: { ...LOGIN, ttl: 1 } }, 'ttl: is not known here; did you mean window?'],
    ['no rule', { login: 5 }, 'namedRules.login of FreqLimitModule: 5 is not an object of window, limit'],
    ['null', { login: null }, 'null is not an object'],
    [
      'a name that is none',
      { 'a b': LOGIN },
      'namedRules of FreqLimitModule: "a b" is not a name of 1 to 64',
    ],
    ['a name like a window', { '1m': LOGIN }, '"1m" is no name, it looks like a window'],
    ['a key that is none', { login: { ...LOGIN, key: 'ip' } }, 'key: '],
  ])('tells of an entry with %s, and throws it for each reference', (_, table, message) => {
    const rules = tableOf(table);
    expect(rules.problems).toEqual([expect.stringContaining(message)]);
    const [name] = Object.keys(table);
    expect(thrownBy(() => meant(table, name!)).message).toBe(rules.problems[0]);
  });

  it('takes every scope for an entry', () => {
    for (const scope of ['handler', 'controller', 'app'])
      expect(tableOf({ login: { ...LOGIN, scope } }).problems).toEqual([]);
  });
});
