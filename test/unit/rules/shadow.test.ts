import { planRule } from '../../../src/rules/plan-rule.js';
import type { PlannedCheck } from '../../../src/rules/to-checks.js';
import { withShadows } from '../../../src/rules/shadow.js';
import { check } from '../../support/check.js';
import { declared, DEFAULTS, OWNER, result } from '../fixtures.js';

function planned(shadow: boolean): PlannedCheck {
  const rule = planRule(declared({ window: '1m', limit: 5, shadow }), OWNER, DEFAULTS);
  return { ...check('key', { limit: 5, shadow }), rule, aboveShare: undefined };
}

describe('results of shadow rules', () => {
  it('are marked, and otherwise as the store says', () => {
    const denied = result({ allowed: false, used: 5, remaining: 0, retryAfterMs: 40_001 });
    expect(withShadows([planned(true), planned(true)], [result(), denied])).toEqual([
      result({ shadow: true }),
      { ...denied, shadow: true },
    ]);
  });

  it('leave the results of other rules as they are', () => {
    const real = result();
    expect(withShadows([planned(false)], [real])[0]).toBe(real);
  });
});
