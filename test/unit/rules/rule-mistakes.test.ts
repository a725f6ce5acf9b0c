import { mistakeIn } from '../../../src/rules/rule-mistakes.js';
import { readRules } from '../../../src/rules/read-rules.js';
import { mistakeInName } from '../../../src/rules/skip-names.js';
import { thrownBy } from '../fixtures.js';

function thrown(): never {
  throw new Error('no vault');
}

const minute = { ttl: 60_000, limit: 3 };

describe('mistakeIn', () => {
  it.each<[string, unknown, string]>([
    [
      'one rule by name',
      { default: minute },
      "rules by name are not a rule; write each as a rule with its name: { name: 'default', window: '1m', limit: 3 }",
    ],
    [
      'several rules by name',
      { short: { ttl: 1_000, limit: 3 }, long: { window: '1h', limit: 9 } },
      "{ name: 'short', window: '1s', limit: 3 }, { name: 'long', window: '1h', limit: 9 }",
    ],
    ['a rule by name in old seconds', { default: { ttl: 60, limit: 3 } }, "window: '1m', limit: 3"],
    ['functions', { default: { ttl: () => 1, limit: () => 1 } }, "window: '1m', limit: 5"],
    ['a list', [minute], '[list of 1] is not a rule; write each rule as an object such as'],
    ['a decorator', () => undefined, 'is not a rule; write each rule as an object such as'],
    ['undefined', undefined, 'If it is imported, two files may import each other'],
    [
      'only a name',
      { name: 'login' },
      "window and limit are missing; for a rule of namedRules write only its name: 'login'",
    ],
    ['null', null, "null is not a rule; write each rule as an object such as { window: '1m', limit: 5 }"],
    ['a number', 5, '5 is not a rule; write each rule as an object such as {'],
    ['a string', '1m', '"1m" is not a rule; write each rule as an object such as {'],
  ])('recognizes %s', (_, rule, problem) => {
    expect(mistakeIn(rule)).toContain(problem);
  });

  it.each([[{ window: '1m', limit: 5 }], [{}], [{ key: { window: 1 }, limit: 5 }]])(
    'recognizes nothing in %j',
    (rule) => {
      expect(mistakeIn(rule)).toBeUndefined();
    },
  );

  it('recognizes wrong arguments of a decorator of another copy of this package', () => {
    const kept = { problem: 'the limit is missing', [Symbol.for('nestjs-freq-limit:wrong-arguments')]: true };
    expect(mistakeIn(kept)).toBe('the limit is missing');
  });

  it('recognizes nothing in a rule of a class with a name of its own', () => {
    const login = Object.assign(Object.create({ window: '15m', limit: 5 }) as object, { name: 'login' });
    expect(mistakeIn(login)).toBeUndefined();
  });

  it('leaves getters alone: one that throws is reported with its place later', () => {
    const getter = { enumerable: true, get: thrown };
    expect(mistakeIn(Object.defineProperties({}, { name: getter, limit: getter }))).toBeUndefined();
  });
});

describe('readRules', () => {
  it.each<[string, unknown, string]>([
    [
      'one rule',
      { window: '1h', limit: 2 },
      "[object] is not a list of rules; write rules: [{ window: '1h', limit: 2 }]",
    ],
    ['rules by name', { default: minute }, "write rules: [{ name: 'default', window: '1m', limit: 3 }]"],
    ['a name', 'login', '"login" is not a list of rules; write rules: [\'login\']'],
    ['null', null, "null is not a list of rules; write rules: [{ window: '1m', limit: 5 }]"],
  ])('shows how to write %s', (_, given, message) => {
    expect(thrownBy(() => readRules(given)).message).toContain(message);
  });

  it('returns a list as it is', () => {
    const list = [minute];
    expect(readRules(list)).toBe(list);
  });
});

describe('mistakeInName', () => {
  it.each<[string, unknown, string]>([
    [
      'flags',
      { default: true, long: false },
      "[object] is not the name of a rule; write names as strings, @SkipFreqLimit('default'), or @SkipFreqLimit() for all rules",
    ],
    ['flags that skip nothing', { default: false }, 'to limit a handler again, write @FreqLimit on it'],
    ['a list', ['daily'], "write names without a list: @SkipFreqLimit('burst', 'daily')"],
    ['true', true, 'true is not the name of a rule; to skip all rules, write @SkipFreqLimit()'],
    ['false', false, 'false is not the name of a rule; to limit a handler again, write @FreqLimit on it'],
    ['undefined', undefined, 'undefined is not the name of a rule; write @SkipFreqLimit()'],
    ['a number', 5, '5 is not the name of a rule'],
  ])('recognizes %s', (_, name, problem) => {
    expect(mistakeInName(name)).toContain(problem);
  });

  it('accepts a string', () => {
    expect(mistakeInName('daily')).toBeUndefined();
  });
});
