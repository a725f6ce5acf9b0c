import { planRule } from '../../../src/rules/plan-rule.js';
import type { Owner, PlannedRule, RuleDefaults } from '../../../src/rules/planned-rule.js';
import type { Scope } from '../../../src/rules/rule.js';
import { DEFAULTS, declared, OWNER } from '../fixtures.js';

const RULE = { window: '1m', limit: 5 };

function plan(
  rule: unknown,
  level: Scope = 'handler',
  owner: Owner = OWNER,
  defaults: RuleDefaults = DEFAULTS,
): PlannedRule {
  return planRule(declared(rule, level), owner, defaults);
}

describe("a rule's id", () => {
  const other = (parts: Partial<Owner>): Owner => ({ ...OWNER, ...parts });
  const idOf = (rule: object, level?: Scope, owner?: Owner): string =>
    plan({ ...RULE, ...rule }, level, owner).id;

  it.each<[string, string, string]>([
    ['window of an unnamed rule', idOf({}), idOf({ window: '2m' })],
    ['key of an unnamed rule', idOf({}), idOf({ key: '{user.id}' })],
    ['name', idOf({ name: 'a' }), idOf({ name: 'b' })],
    ['name against none', idOf({}), idOf({ name: 'a' })],
    ['handler', idOf({}), idOf({}, 'handler', other({ handler: 'list' }))],
    ['class', idOf({}), idOf({}, 'handler', other({ classIdentity: 'sms#2' }))],
    ['scope', idOf({}), idOf({ scope: 'controller' })],
    ['scope of the application', idOf({ scope: 'controller' }), idOf({ scope: 'app' })],
  ])('differs by its %s', (_, a, b) => {
    expect(a).not.toBe(b);
  });

  it.each<[string, string, string]>([
    ['limit', idOf({}), idOf({ limit: 9 })],
    ['spelling of its window', idOf({}), idOf({ window: 60 })],
    ['cost', idOf({}), idOf({ cost: 2 })],
    ['key when it is named', idOf({ name: 'a' }), idOf({ name: 'a', key: '{user.id}' })],
    ['window when it is named', idOf({ name: 'a' }), idOf({ name: 'a', window: '2m' })],
    [
      'handler in the scope of the controller',
      idOf({}, 'controller'),
      idOf({}, 'controller', other({ handler: 'x' })),
    ],
    [
      'class in the scope of the application',
      idOf({}, 'app'),
      idOf({}, 'app', other({ classIdentity: 'x' })),
    ],
    ['level where it names its scope', idOf({ scope: 'app' }), idOf({}, 'app')],
  ])('is the same whatever its %s', (_, a, b) => {
    expect(a).toBe(b);
  });

  it('names its owner for people who look into Redis', () => {
    expect(idOf({})).toMatch(/^SmsController\.send~/);
    expect(idOf({ name: 'daily' })).toMatch(/^SmsController\.send\.daily~/);
    expect(idOf({}, 'controller')).toMatch(/^SmsController~/);
    expect(idOf({}, 'app')).toMatch(/^app~/);
  });
});

describe('the head of the counters', () => {
  it('contains namespace, id and window', () => {
    const rule = plan(RULE, 'handler', OWNER, { ...DEFAULTS, namespace: 'shop' });
    expect(rule.keyPrefixFor(60_000)).toBe(`shop:${rule.id}:60000:`);
  });

  it('follows the window of a function', () => {
    const rule = plan({ ...RULE, window: () => '1m' });
    expect(rule.keyPrefixFor(1_000)).toBe(`fl:${rule.id}:1000:`);
    expect(rule.keyPrefixFor(2_000)).toBe(`fl:${rule.id}:2000:`);
  });
});
