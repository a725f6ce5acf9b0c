import { FreqLimitGuard } from '../../../src/freq-limit.guard.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import type { PlannedRule } from '../../../src/rules/planned-rule.js';
import type { FreqLimitRule } from '../../../src/rules/rule.js';
import { ValueWatches } from '../../../src/rules/value-watch.js';
import type { LimitedHandler } from '../../../src/warnings/limited-handlers.js';
import { paramsNotInPaths } from '../../../src/warnings/param-warnings.js';
import { declared, DEFAULTS, OWNER } from '../fixtures.js';

const watches = new ValueWatches({ warn: () => undefined });

function rule(
  key: FreqLimitRule['key'] = '{params.userId}',
  parts: Partial<FreqLimitRule> = {},
): PlannedRule {
  const planned = planRule(
    declared({ window: '1m', limit: 1, name: 'r', key, ...parts }, 'handler', '@FreqLimit on Users.get'),
    OWNER,
    DEFAULTS,
  );
  planned.valueWatch = watches.of(planned);
  return planned;
}

function route(paths: unknown[], parts: Partial<LimitedHandler> = {}): LimitedHandler {
  return { name: 'Users.get', rules: [rule()], guards: [FreqLimitGuard], kind: 'route', paths, ...parts };
}

const messages = (limited: readonly LimitedHandler[], prefixes: unknown[] = ['']): string[] =>
  paramsNotInPaths(limited, prefixes).map(({ message }) => message);

const LINE =
  '@FreqLimit on Users.get, rule "r": the key reads {params.userId}, but the path of Users.get has no such parameter. ' +
  'Requests there are counted by IP address. Use the name of the parameter in the path.';

describe('a parameter that no path has', () => {
  it.each<[string, unknown[], unknown[]]>([
    ['another parameter', ['users', ':id'], ['']],
    ['no parameter', ['/', '/'], ['']],
    ['several paths', ['users', 'people', ':id', ':key'], ['']],
    ['an optional part', ['users', '{:id}'], ['']],
    ['a prefix', ['users', ':id'], ['api/:tenant', 'of/:shop']],
  ])('is named: %s', (_, paths, prefixes) => {
    expect(messages([route(paths)], prefixes)).toEqual([LINE]);
  });

  it('ends the watch of its rules', () => {
    const limited = route(['users', ':id']);
    expect(limited.rules[0]?.valueWatch).toBeDefined();
    messages([limited]);
    expect(limited.rules[0]?.valueWatch).toBeUndefined();
  });

  it('is named once for a rule, with its routes and its effect', () => {
    const shared = rule('{params.userId}', { onMissingKey: 'skip' });
    const limited = ['Users.get', 'Users.all'].map((name) => route(['users'], { name, rules: [shared] }));
    expect(messages(limited)).toEqual([
      expect.stringMatching(/path of Users\.get, Users\.all has .* are not counted by this rule\./),
    ]);
  });

  it('is named if the key reads others too, or if it is in a list', () => {
    expect(messages([route(['users', ':id'], { rules: [rule('{params.id}{params.userId}')] })])).toEqual([
      LINE,
    ]);
    expect(
      messages([route(['users', ':id'], { rules: [rule(['{ip}', 'x:{params.userId.x}'])] })]),
    ).toHaveLength(1);
  });
});

describe('a parameter that a request may have', () => {
  it.each<[string, unknown[], unknown[]]>([
    ['the path has it', ['users', ':userId'], ['']],
    ['the controller has it', ['users/:userId', '/'], ['']],
    ['one of several paths has it', ['users', ':id', 'of/:userId'], ['']],
    ['it is one of two in a part', ['users', ':from-:userId'], ['']],
    ['the prefix has it', ['users', ':id'], ['at/:userId']],
    ['the path of a module has it', ['users', ':id'], ['', '/at/:userId']],
    ['it is a wildcard', ['files', '*userId'], ['']],
    ['the path has a wildcard', ['files', '*'], ['']],
    ['the path has a pattern', ['users', ':id(\\d+)'], ['']],
    ['the path is not text', ['users', /^(?<userId>.*)$/], ['']],
    ['the path is not known', [undefined], ['']],
  ])('is not named: %s', (_, paths, prefixes) => {
    const limited = route(paths);
    expect(messages([limited], prefixes)).toEqual([]);
    expect(limited.rules[0]?.valueWatch).toBeDefined();
  });

  it('is not named if another route of the rule has it', () => {
    const shared = rule();
    const limited = [
      route(['users', ':id'], { rules: [shared] }),
      route(['of/:userId'], { rules: [shared] }),
    ];
    expect(messages(limited)).toEqual([]);
  });

  it('is not named if a guard runs first, which may set it, or if it is not a route', () => {
    class AuthGuard {}
    expect(messages([route(['users'], { guards: [AuthGuard, FreqLimitGuard] })])).toEqual([]);
    expect(messages([route(['users'], { guards: [] })])).toEqual([]);
    expect(messages([route(['users'], { kind: 'operation' })])).toEqual([]);
  });

  it('is not named if the key reads no parameter', () => {
    expect(messages([route(['users'], { rules: [rule('{body.params}{query.userId}')] })])).toEqual([]);
  });
});
