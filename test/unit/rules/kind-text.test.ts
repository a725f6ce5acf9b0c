import { kindText, kindTexts, spanText, windowText } from '../../../src/rules/kind-text.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import { DEFAULTS, declared, OWNER } from '../fixtures.js';

function textsOf(parts: object): string {
  const rule = planRule(declared({ window: '1m', limit: 5, ...parts }), OWNER, DEFAULTS);
  return [windowText(rule), ...kindTexts(rule)].join(', ');
}

describe('the debug log describes', () => {
  it.each<[object, string]>([
    [{}, 'per 1m'],
    [{ window: () => '1m' }, 'per a function'],
    [{ algorithm: 'sliding-window' }, 'per 1m, sliding-window'],
    [{ algorithm: 'token-bucket' }, 'per 1m, token-bucket'],
    [{ algorithm: 'token-bucket', burst: 9 }, 'per 1m, token-bucket, burst 9'],
    [{ algorithm: 'token-bucket', burst: () => 9 }, 'per 1m, token-bucket, burst a function'],
    [
      { window: { calendar: 'month', startsAt: 15, timeZone: 'Europe/Berlin' } },
      'per month from day 15, Europe/Berlin',
    ],
    [{ window: { calendar: 'day', timeZone: () => 'UTC' } }, 'per day, a function'],
    [{ blockFor: '15m' }, 'per 1m, blocked for 15m'],
    [{ blockFor: ['1m', '1h'] }, 'per 1m, blocked for 1m, then 1h, forgiven after 1d'],
    [{ window: undefined, limit: undefined, concurrency: 5 }, 'at once'],
    [
      { window: undefined, limit: undefined, concurrency: 5, holdFor: 'connection' },
      'at once, held for the connection',
    ],
  ])('the rule %j', (parts, text) => {
    expect(textsOf(parts)).toBe(text);
  });

  it('the kind of a check', () => {
    expect(spanText({ kind: { type: 'concurrency' }, windowMs: 15_000 })).toBe('at once');
    expect(spanText({ kind: { type: 'sliding-window' }, windowMs: 60_000 })).toBe('per 1m, sliding-window');
    expect(kindText({ type: 'fixed-window' })).toBe('');
    expect(kindText({ type: 'sliding-window' })).toBe(', sliding-window');
    expect(kindText({ type: 'token-bucket', burst: 9 })).toBe(', token-bucket, burst 9');
    const endsAtMs = Date.parse('2026-04-01T00:00:00Z');
    expect(kindText({ type: 'calendar', startsAtMs: 0, endsAtMs, nextEndsAtMs: 0 })).toBe(
      ' until 2026-04-01T00:00:00.000Z',
    );
  });
});
