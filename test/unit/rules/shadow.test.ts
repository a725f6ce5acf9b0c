import type { CheckResult } from '../../../src/core/check.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import type { PlannedCheck } from '../../../src/rules/to-checks.js';
import { withShadows } from '../../../src/rules/shadow.js';
import { check } from '../../support/check.js';
import { declared, DEFAULTS, OWNER, result } from '../fixtures.js';

function planned(shadow: boolean, ownLimit: number, countDenied = false): PlannedCheck {
  const rule = planRule(declared({ window: '1m', limit: ownLimit, shadow }), OWNER, DEFAULTS);
  const limit = shadow ? Infinity : ownLimit;
  return { ...check('key', { limit, countDenied }), rule, ownLimit, aboveShare: undefined };
}

/** A store's result for a check without a limit. */
const counted = (used: number, parts: Partial<CheckResult> = {}): CheckResult =>
  result({ limit: Infinity, used, remaining: Infinity, ...parts });

describe('results of shadow rules', () => {
  it('are those that the limit would give, with a wait if it would deny', () => {
    const results = withShadows(
      [planned(true, 10), planned(true, 6), planned(true, 5)],
      [6, 6, 6].map((used) => counted(used)),
    );
    expect(results).toEqual([
      result({ shadow: true }),
      result({ limit: 6, remaining: 0, shadow: true }),
      result({ limit: 5, remaining: 0, allowed: false, retryAfterMs: 40_001, shadow: true }),
    ]);
  });

  it('leave the results of other rules as they are', () => {
    const real = result();
    expect(withShadows([planned(false, 10)], [real])[0]).toBe(real);
  });

  it('include the cost if the request was not charged because another rule denies it', () => {
    const denial = result({ allowed: false });
    const answers = (countDenied: boolean): CheckResult[] =>
      withShadows([planned(false, 1), planned(true, 6, countDenied)], [denial, counted(6)]);
    expect(answers(false)[1]).toMatchObject({ allowed: false, used: 6 });
    expect(answers(true)[1]).toMatchObject({ allowed: true, used: 6 });
  });

  it('wait a whole window if nothing is used and the limit is 0', () => {
    const [one] = withShadows([planned(true, 0)], [counted(0, { resetAfterMs: 0, cost: 5 })]);
    expect(one).toMatchObject({ allowed: true, remaining: 0 });
    const [denied] = withShadows(
      [planned(true, 0), planned(false, 1)],
      [counted(0, { resetAfterMs: 0, cost: 5 }), result({ allowed: false })],
    );
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
  });
});
