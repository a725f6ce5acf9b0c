import type { HandlerKind } from '../../../src/plans/handler-kinds.js';
import type { KeySpec } from '../../../src/rules/rule.js';
import { constantKeys } from '../../../src/warnings/constant-keys.js';
import { declared } from '../fixtures.js';
import { plannedHandler } from './handlers.js';

const rule = (key: KeySpec | undefined, place = '@FreqLimit on Sms.send', name?: string) =>
  declared({ window: '1m', limit: 1, key, name }, 'handler', place);
const messages = (...rules: ReturnType<typeof rule>[]) =>
  constantKeys([plannedHandler('send', rules)]).map(({ message }) => message);

describe('a constant key', () => {
  it('has a warning with the place, what happens, the right form, and how to end it', () => {
    expect(constantKeys([plannedHandler('send', [rule('login')])])).toEqual([
      {
        code: 'FREQ_LIMIT_CONSTANT_KEY',
        message:
          "@FreqLimit on Sms.send: the key 'login' is a constant, so all clients share one counter. Add what to count by, " +
          "such as 'login:{ip}' or 'login:{user.id}'. If you mean one counter, write 'all:login'.",
      },
    ]);
  });

  it('that looks like a placeholder has a warning with the placeholder', () => {
    expect(messages(rule('user/:id'))).toEqual([
      "@FreqLimit on Sms.send: the key 'user/:id' is a constant, so all clients share one counter. Placeholders are in " +
        "braces: write 'user/{params.id}'. If you mean one counter, write 'all'.",
    ]);
    expect(messages(rule(':user'))).toEqual([
      expect.stringContaining("Placeholders are in braces: write '{params.user}' or '{user.id}'."),
    ]);
  });

  it('that is a list of constants has a warning', () => {
    expect(messages(rule(['a', 'b']))).toEqual([
      "@FreqLimit on Sms.send: the key ['a', 'b'] is a constant, so all clients share one counter. Add what to count by, " +
        "such as '{ip}' or '{user.id}'. If you mean one counter, begin the list with 'all'.",
    ]);
  });

  it.each<[KeySpec]>([
    ['all'],
    ['all:login'],
    [['all', 'login']],
    [['all:a', 'b']],
    ['{ip}'],
    ['login:{ip}'],
    [['login', '{ip}']],
    [() => 'login'],
    [['login', () => 'x']],
    [undefined as never],
  ])('is meant or is not one: %p', (key) => {
    expect(messages(rule(key))).toEqual([]);
  });

  it.each(['ALL', 'allow', 'call', 'x:all', ' all'])('is not meant by %j', (key) => {
    expect(messages(rule(key))).toHaveLength(1);
  });

  it('has one warning for all its places, and names each once', () => {
    const [first, second] = ['rules[0] of FreqLimitModule', '@FreqLimit on Sms.send'];
    const handlers = ['one', 'two'].map((name) =>
      plannedHandler(name, [
        rule('login', first, 'a'),
        rule('login', second, 'b'),
        rule('other', second, 'c'),
      ]),
    );
    expect(constantKeys(handlers).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^rules\[0\] of FreqLimitModule, @FreqLimit on Sms\.send: the key 'login' /),
      expect.stringMatching(/^@FreqLimit on Sms\.send: the key 'other' /),
    ]);
  });

  it('of the module has one warning, however many rules have it', () => {
    const rules = [rule(undefined, 'here', 'a'), rule(undefined, 'there', 'b')];
    const [warning, ...others] = constantKeys([
      plannedHandler('send', rules, 'route', { defaultKey: 'client' }),
    ]);
    expect(warning?.message).toMatch(/^defaultKey of FreqLimitModule: the key 'client' is a constant/);
    expect(others).toEqual([]);
  });

  it.each<[HandlerKind | undefined, number]>([
    ['route', 1],
    ['gateway', 1],
    ['operation', 1],
    ['field', 1],
    ['pattern', 0],
    ['library', 0],
    [undefined, 0],
  ])('on a handler of the kind %s has %i warnings', (kind, count) => {
    expect(constantKeys([{ ...plannedHandler('send', [rule('login')]), kind }])).toHaveLength(count);
  });

  it('cannot forge a log line', () => {
    expect(messages(rule('a\nFREQ_LIMIT_STARTED: b')).join()).not.toContain('\n');
  });
});
