import { invalidOptions } from '../../../src/core/errors.js';
import { Mistakes } from '../../../src/core/mistakes.js';
import { type Level, planOf } from '../../../src/rules/plan.js';
import { DEFAULTS, declared, OWNER, thrownBy } from '../fixtures.js';
import type { Scope } from '../../../src/rules/rule.js';

const level = (scope: Scope, rules: readonly object[], skip?: readonly string[]): Level => ({
  rules: rules.map((rule) => declared({ window: '1m', limit: 1, ...rule }, scope)),
  skip: skip && { names: skip, place: `@SkipFreqLimit on the ${scope}` },
});
const shown = (...levels: Level[]): (readonly [string, unknown])[] | undefined =>
  planOf(levels, OWNER, DEFAULTS)?.rules.map(({ name, limit }) => [name, limit] as const);

const GLOBAL = level('app', [{ name: 'global', limit: 7 }]);
const XY = level('controller', [
  { name: 'x', limit: 5 },
  { name: 'y', limit: 9 },
]);

describe('planOf', () => {
  it('puts the module before the controller before the handler, each as written', () => {
    const handler = level('handler', [{ name: 'c' }, { name: 'a' }]);
    expect(shown(GLOBAL, level('controller', [{ name: 'd' }]), handler)?.map(([name]) => name)).toEqual([
      'global',
      'd',
      'c',
      'a',
    ]);
  });

  it('lets a rule replace one with the same name of an outer level, in its place', () => {
    expect(shown(GLOBAL, XY, level('handler', [{ name: 'x', limit: 2 }]))).toEqual([
      ['global', 7],
      ['x', 2],
      ['y', 9],
    ]);
    expect(shown(GLOBAL, XY, level('handler', []))).toEqual([
      ['global', 7],
      ['x', 5],
      ['y', 9],
    ]);
  });

  it('lets the rule closest to the handler win', () => {
    expect(
      shown(level('app', [{ name: 'x', limit: 1 }]), XY, level('handler', [{ name: 'x', limit: 3 }])),
    ).toEqual([
      ['x', 3],
      ['y', 9],
    ]);
  });

  it('does not change its arguments', () => {
    const handler = level('handler', [{ name: 'x', limit: 2 }]);
    const before = structuredClone([GLOBAL, XY, handler]);
    shown(GLOBAL, XY, handler);
    expect([GLOBAL, XY, handler]).toEqual(before);
  });

  it('returns undefined without rules', () => {
    expect(planOf([], OWNER, DEFAULTS)).toBeUndefined();
    expect(planOf([level('app', []), level('handler', [])], OWNER, DEFAULTS)).toBeUndefined();
  });
});

describe('counters', () => {
  it.each([
    ['of one window and key, unnamed', [{ limit: 3 }, { limit: 5 }]],
    ['of one window spelled twice', [{ window: '1m' }, { window: 60 }]],
    ['of two functions, unnamed', [{ key: () => 'a' }, { key: () => 'b' }]],
    ['of the default key, written and not', [{ key: '{ip}' }, {}]],
  ])('are never shared by two rules %s', (_, rules) => {
    const error = thrownBy(() => shown(level('handler', rules)));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toMatch(
      /^the handler: two rules without a name have the window .+ and the key .+, so they would share a counter \(the other: the handler\)/,
    );
    expect(error.message).toContain('give one of them a name');
  });

  it.each([
    ['windows', [{}, { window: '1d' }]],
    ['keys', [{}, { key: '{user.id}' }]],
    ['names', [{}, { name: 'second' }]],
    ['scopes', [{}, { scope: 'controller' }]],
  ])('are distinct by their %s', (_, rules) => {
    const plan = planOf([level('handler', rules)], OWNER, DEFAULTS);
    expect(new Set(plan?.rules.map((rule) => rule.keyPrefixFor(60_000))).size).toBe(2);
  });

  it('throw if two rules of one level have the same name', () => {
    const error = thrownBy(() => shown(level('handler', [{ name: 'x' }, { name: 'x', window: '1d' }])));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toBe('the handler: name: two rules have the name "x"; rename one of them');
  });
});

describe('names in headers', () => {
  it.each<[string, readonly object[], readonly string[]]>([
    ['the windows of unnamed rules', [{}, { window: '1d' }], ['1m', '1d']],
    ['numbered if two are equal', [{ key: 'a' }, { key: 'b' }, { key: 'c' }], ['1m', '1m-2', '1m-3']],
    ['different from a declared name', [{ key: 'a' }, { name: '1m' }], ['1m-2', '1m']],
    [
      'different from a declared name with a number',
      [{ key: 'a' }, { key: 'b' }, { name: '1m-2' }],
      ['1m', '1m-3', '1m-2'],
    ],
    [
      'limit for windows of functions',
      [{ window: () => 1 }, { window: () => 1, key: 'a' }],
      ['limit', 'limit-2'],
    ],
  ])('are %s', (_, rules, names) => {
    expect(shown(level('handler', rules))?.map(([name]) => name)).toEqual(names);
  });
});

describe('all mistakes at once', () => {
  function problemsOf(...levels: Level[]): readonly string[] {
    const mistakes = new Mistakes();
    planOf(levels, OWNER, DEFAULTS, undefined, mistakes.attempt);
    return mistakes.error?.problems ?? [];
  }

  it('have a line for each wrong rule, name and skip', () => {
    const controller = level('controller', [{ limit: -1 }, { window: '1x', limit: -2, ttl: 5 }]);
    const rules = [{ name: 'x' }, { name: 'x', limit: -3 }, {}, {}];
    const problems = problemsOf(GLOBAL, controller, level('handler', rules, ['dayly', 'x', 'wekly']));
    expect(problems.map((line) => line.slice(0, 50))).toEqual([
      'the controller: limit: -1 is not a whole number fr',
      'the controller: ttl: is not an option; did you mea',
      'the controller: window: "1x" is not a window; expe',
      'the controller: limit: -2 is not a whole number fr',
      'the handler: limit: -3 is not a whole number from ',
      'the handler: name: two rules have the name "x"; re',
      '@SkipFreqLimit on the handler: no rule here has th',
      '@SkipFreqLimit on the handler: no rule here has th',
      'the handler: two rules without a name have the win',
    ]);
  });

  it('include those of rules that are skipped or replaced', () => {
    const outer = level('controller', [{ name: 'x', limit: -1 }]);
    expect(problemsOf(outer, level('handler', [{ name: 'x' }, { limit: -2 }], []))).toEqual([
      expect.stringMatching(/^the controller: limit: -1/),
      expect.stringMatching(/^the handler: limit: -2/),
    ]);
  });

  it('leave a plan of the rules that are right', () => {
    const { attempt } = new Mistakes();
    const plan = planOf(
      [level('handler', [{ limit: -1 }, { limit: 4 }])],
      OWNER,
      DEFAULTS,
      undefined,
      attempt,
    );
    expect(plan?.rules.map(({ limit }) => limit)).toEqual([4]);
  });

  it('do not include names of rules that are not known because of another mistake', () => {
    const unknown: Level = {
      rules: [{ ...declared({}, 'app'), error: invalidOptions('rules: wrong') }],
      skip: undefined,
    };
    expect(problemsOf(unknown, level('handler', [], ['daily']))).toEqual(['rules: wrong']);
  });
});

describe('skips', () => {
  it.each<[string, Level[], string[] | undefined]>([
    ['all by no name', [GLOBAL, XY, level('handler', [{ name: 'z' }], [])], undefined],
    ['one by its name', [GLOBAL, XY, level('handler', [], ['x'])], ['global', 'y']],
    ['several by their names', [GLOBAL, XY, level('handler', [], ['global', 'y'])], ['x']],
    ['rules at its own place', [GLOBAL, level('handler', [{ name: 'z' }], ['z'])], ['global']],
    [
      'rules of outer levels, and leaves one of an inner level',
      [GLOBAL, level('controller', [], []), level('handler', [{ name: 'z' }])],
      ['z'],
    ],
    [
      'rules without a name only all at once',
      [level('app', [{}]), XY, level('handler', [], ['x'])],
      ['1m', 'y'],
    ],
    [
      'one that an inner level declares again',
      [XY, level('controller', [], ['x']), level('handler', [{ name: 'x' }])],
      ['y', 'x'],
    ],
  ])('remove %s', (_, levels, names) => {
    expect(shown(...levels)?.map(([name]) => name)).toEqual(names);
  });

  it.each([
    [[GLOBAL, XY], 'existing names: global, x, y'],
    [[level('app', [{}])], 'existing names: none'],
    [[], 'existing names: none'],
  ])('with an unknown name throw an error that lists the names', (levels, names) => {
    const error = thrownBy(() => shown(...levels, level('handler', [], ['dayly'])));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toBe(`@SkipFreqLimit on the handler: no rule here has the name "dayly"; ${names}`);
  });

  it('do not find a rule of an inner level', () => {
    const levels = [level('controller', [], ['z']), level('handler', [{ name: 'z' }])];
    expect(() => shown(...levels)).toThrow('no rule here has the name "z"');
  });
});
