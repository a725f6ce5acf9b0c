import type { Attempt } from '../../../src/core/mistakes.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import { defineRule } from '../../../src/rules/define-rule.js';
import { NamedRuleSet } from '../../../src/rules/named-rules.js';
import { planOf } from '../../../src/rules/plan.js';
import type { PlannedRule } from '../../../src/rules/planned-rule.js';
import { toChecks } from '../../../src/rules/to-checks.js';
import { CONTEXT, DEFAULTS, declared, OWNER, requestOf, thrownBy } from '../fixtures.js';

type Parts = Readonly<Record<string, unknown>>;

const PLACE = '@FreqLimit on SmsController.send';

function plan(parts: Parts): PlannedRule {
  return planRule(declared({ concurrency: 5, ...parts }, 'handler', PLACE), OWNER, DEFAULTS);
}

const WRONG: readonly [Parts, string][] = [
  [
    { window: '1m' },
    'window: is not possible with concurrency, which counts what runs now; remove window, or write a second rule with window and limit',
  ],
  [
    { limit: 5 },
    'limit: is not possible with concurrency, which is the limit itself; remove limit, or write a second rule with window and limit',
  ],
  [{ cost: 2 }, 'cost: is not possible with concurrency, which counts each request once; remove cost'],
  [
    { algorithm: 'sliding-window' },
    'algorithm: is not possible with concurrency, which has no window; remove algorithm',
  ],
  [{ burst: 5 }, 'burst: is not possible with concurrency, which has no window; remove burst'],
  [{ blockFor: '1h' }, 'blockFor: is not possible with concurrency, which has no window; remove blockFor'],
  [
    { forgiveAfter: '1h' },
    'forgiveAfter: is not possible with concurrency, which has no window; remove forgiveAfter',
  ],
  [
    { countDenied: true },
    'countDenied: is not possible with concurrency, because a denied request does not run; remove countDenied',
  ],
  [
    { countWhen: 'failure' },
    'countWhen: is not possible with concurrency, which counts each request while it runs; remove countWhen',
  ],
  [
    { concurrency: '5' },
    'concurrency: "5" is not a whole number from 0 to 2^53 - 1, or a function; it is a string, perhaps from the environment: write ' +
      'Number(…) or use defineRule',
  ],
  [{ concurrency: -1 }, 'concurrency: -1 is not a whole number from 0 to 2^53 - 1, or a function'],
  [{ holdFor: 'socket' }, "holdFor: \"socket\" is not one of 'request', 'connection'"],
  [
    { concurrency: undefined, maxConcurrent: 5 },
    'maxConcurrent: is not an option; did you mean concurrency?',
  ],
];

describe('a rule with concurrency', () => {
  it.each(WRONG)('is wrong with %j', (parts, problem) => {
    expect(thrownBy(() => plan(parts)).problems).toEqual([`${PLACE}: ${problem}`]);
  });

  it('alone has holdFor', () => {
    const rule = declared({ window: '1m', limit: 5, holdFor: 'request' }, 'handler', PLACE);
    expect(thrownBy(() => planRule(rule, OWNER, DEFAULTS)).message).toBe(
      `${PLACE}: holdFor: is only possible with concurrency; add that, or remove holdFor`,
    );
  });

  it('ignores the defaults of the module that are for windows', () => {
    const defaults = { ...DEFAULTS, countDenied: true, algorithm: 'token-bucket' } as const;
    const rule = planRule(declared({ concurrency: 5 }), OWNER, defaults);
    expect(rule).toMatchObject({
      ...{ name: 'concurrency', kindName: 'concurrency', limit: 5, cost: 1, countDenied: false },
      ...{ holdFor: 'request', block: undefined, shouldCount: undefined, isStatic: true },
    });
  });

  it.each([
    [{ concurrency: 5 }, { window: '1m', limit: 5 }, undefined],
    [{ window: '1m', limit: 5 }, { concurrency: 5 }, expect.stringContaining('the rule "a" has concurrency')],
  ])('has nothing to settle, unless a closer rule replaces it', (outer, closer, problem) => {
    const levels = [
      { rules: [declared({ name: 'a', ...outer }, 'controller')], skip: undefined },
      { rules: [declared({ name: 'a', ...closer })], skip: undefined },
    ];
    const traits = { showsVerdict: false, showsCharges: true, redirects: false };
    const problems: string[] = [];
    const attempt: Attempt = (step) => {
      try {
        return step();
      } catch (error) {
        problems.push((error as Error).message);
        return undefined;
      }
    };
    planOf(levels, OWNER, DEFAULTS, { ...traits, chargedNames: [{ name: 'a', place: 'here' }] }, attempt);
    expect(problems).toEqual(problem === undefined ? [] : [problem]);
  });

  it('makes a check with a lease of its own for each request, whose key has no window', () => {
    const made = planOf(
      [{ rules: [declared({ name: 'a', concurrency: 5 })], skip: undefined }],
      OWNER,
      DEFAULTS,
    )!;
    const checks = [1, 2].map(
      () =>
        toChecks(made, requestOf({}, '127.0.0.1'), CONTEXT, () => undefined) as unknown as readonly Parts[],
    );
    const [[one], [other]] = checks as [[Parts], [Parts]];
    expect(one).toMatchObject({ kind: { type: 'concurrency' }, limit: 5, cost: 1, windowMs: 15_000 });
    expect(one['key']).toMatch(/^fl:SmsController\.send\.a~[^:]+:leases:127\.0\.0\.1$/);
    expect(one['lease']).toMatch(/^[\w-]{13,}$/);
    expect(other['lease']).not.toBe(one['lease']);
    expect(made.hasLeases).toBe(true);
  });

  it('with a function names its option if that fails', async () => {
    const failing = declared({ name: 'a', concurrency: () => 1.5 }, 'handler', PLACE);
    const made = planOf([{ rules: [failing], skip: undefined }], OWNER, DEFAULTS)!;
    await expect(
      (async () => toChecks(made, requestOf({}, '127.0.0.1'), CONTEXT, () => undefined))(),
    ).rejects.toThrow(
      `${PLACE}, rule "a": the concurrency function returned 1.5, which is not a whole number from 0 to 2^53 - 1`,
    );
  });

  it('without a name shares no counter with another', () => {
    const rules = [declared({ concurrency: 5 }), declared({ concurrency: 3 })];
    expect(thrownBy(() => planOf([{ rules, skip: undefined }], OWNER, DEFAULTS)).message).toContain(
      'two rules without a name have concurrency and the key {ip}, so they would share a counter',
    );
  });

  it('may be a named rule, and changed where it is used', () => {
    const set = new NamedRuleSet({ exports: { concurrency: 5 } }, DEFAULTS);
    const resolved = (changes: Parts) => {
      const declaredRule = { rule: changes, named: 'exports', level: 'handler', place: PLACE } as never;
      const [rule] = set.resolve({ rules: [declaredRule], skip: undefined }).rules;
      if (rule?.error !== undefined) throw rule.error;
      return planRule(rule!, OWNER, DEFAULTS);
    };
    expect(resolved({ concurrency: 2 }).limit).toBe(2);
    expect(thrownBy(() => resolved({ limit: 3 })).message).toBe(
      `${PLACE}: limit: is not possible with concurrency, which is the limit itself; remove limit, or write a second rule with ` +
        'window and limit',
    );
    const wrong = new NamedRuleSet({ exports: { concurrency: 5, limit: 1 } as never }, DEFAULTS);
    expect(wrong.errors.map(({ message }) => message)).toEqual([
      'namedRules.exports of FreqLimitModule: limit: is not possible with concurrency, which is the limit itself; remove limit, ' +
        'or write a second rule with window and limit',
    ]);
  });

  it('takes strings of digits in defineRule', () => {
    expect(defineRule({ concurrency: '5', name: 'a' })).toEqual({ concurrency: 5, name: 'a' });
    expect(thrownBy(() => defineRule({ concurrency: '' })).message).toContain('defineRule: concurrency: ');
  });
});
