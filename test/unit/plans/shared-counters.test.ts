import { SharedCounters } from '../../../src/plans/shared-counters.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import type { PlannedRule } from '../../../src/rules/planned-rule.js';
import { DEFAULTS, declared, OWNER, thrownBy } from '../fixtures.js';

function rule(parts: object, place: string): PlannedRule {
  return planRule(
    declared({ window: '1m', limit: 5, name: 'x', scope: 'app', ...parts }, 'handler', place),
    OWNER,
    DEFAULTS,
  );
}

describe('SharedCounters', () => {
  it('rejects two rules that share counters and count by different keys', () => {
    const counters = new SharedCounters();
    counters.check(rule({ algorithm: 'sliding-window', key: '{ip}' }, 'here'));
    const other = rule({ algorithm: 'sliding-window', key: '{user.id}' }, 'there');
    expect(thrownBy(() => counters.check(other)).message).toBe(
      'there: key: this rule shares counters with the rule at here but uses a different key; give one of them another name, ' +
        'or both the same key',
    );
  });

  it('accepts different keys for different algorithms, which have counters of their own', () => {
    const counters = new SharedCounters();
    const kinds = [
      {},
      { algorithm: 'sliding-window' },
      { algorithm: 'token-bucket' },
      { window: { calendar: 'day' } },
    ];
    kinds.forEach((kind, i) => {
      expect(() => counters.check(rule({ ...kind, key: `all:${i}` }, `place ${i}`))).not.toThrow();
    });
  });
});
