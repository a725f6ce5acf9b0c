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

  const BUCKET = { algorithm: 'token-bucket', limit: 60 };
  const BLOCK = { blockFor: ['15m', '1h'], forgiveAfter: '2d' };

  it.each([
    ['blockFor', { ...BLOCK, blockFor: '15m' }, BLOCK],
    ['blockFor', {}, BLOCK],
    ['forgiveAfter', { ...BLOCK, forgiveAfter: '3d' }, BLOCK],
    ['blockFor', { ...BUCKET, ...BLOCK }, BUCKET],
    ['limit', { ...BUCKET, limit: 30, burst: 60 }, BUCKET],
  ])('rejects a different %s of two rules that share counters: %j', (option, one, other) => {
    const counters = new SharedCounters();
    counters.check(rule(one, 'here'));
    expect(thrownBy(() => counters.check(rule(other, 'there'))).message).toBe(
      `there: ${option}: this rule shares counters with the rule at here but uses a different ${option}; give one of them ` +
        `another name, or both the same ${option}`,
    );
  });

  it.each([
    ['limits of windows', { limit: 5 }, { limit: 9 }],
    ['bursts', { ...BUCKET, burst: 5 }, { ...BUCKET, burst: 9 }],
    ['limits of buckets that a function returns', { ...BUCKET, limit: () => 30 }, BUCKET],
    ['blocks, of which one is in a shadow rule', { ...BLOCK, shadow: true }, {}],
    ['names and blocks', { ...BLOCK, name: 'y' }, {}],
    ['equal ways to write the same', { blockFor: ['60s'] }, { blockFor: '1m', forgiveAfter: '1d' }],
  ])('accepts different %s', (_, one, other) => {
    const counters = new SharedCounters();
    for (const parts of [one, other]) expect(() => counters.check(rule(parts, 'somewhere'))).not.toThrow();
  });

  it('compares blocks also after a shadow rule', () => {
    const counters = new SharedCounters();
    counters.check(rule({ shadow: true }, 'shadow'));
    counters.check(rule(BLOCK, 'here'));
    expect(thrownBy(() => counters.check(rule({}, 'there'))).message).toContain('there: blockFor: ');
  });
});
