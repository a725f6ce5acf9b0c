import { type Check, toMeasuredResult } from '../../../../src/core/check.js';
import { RecentDenials } from '../../../../src/store/layers/recent-denials.js';
import { check } from '../../../support/check.js';

const bucket = check('b', { kind: { type: 'token-bucket', burst: 5 }, limit: 100 });
const sliding = check('s', { kind: { type: 'sliding-window' }, limit: 5 });

/** Learns that a check was denied at 0. */
function denied(check: Check, used: number, retryAfterMs: number): RecentDenials {
  const denials = new RecentDenials();
  const measured = { used, resetAfterMs: 9_000, retryAfterMs, isBlocked: false };
  denials.learn([check], [toMeasuredResult(check, measured)], 0);
  return denials;
}

describe('RecentDenials', () => {
  it.each([
    ['a bucket', bucket],
    ['a sliding window', sliding],
  ])('expects that %s denies until its wait is over', (_, one) => {
    const denials = denied(one, 5, 300);
    expect(denials.isLikelyDenied(one, 299)).toBe(true);
    expect(denials.isLikelyDenied(one, 300)).toBe(false);
    expect(denials.isLikelyDenied({ ...one, cost: 0 }, 0)).toBe(false);
  });

  it('expects that a cost above the burst is denied, and not one above the refill', () => {
    const denials = new RecentDenials();
    expect(denials.isLikelyDenied({ ...bucket, cost: 6 }, 0)).toBe(true);
    expect(denials.isLikelyDenied({ ...bucket, limit: 2, cost: 5 }, 0)).toBe(false);
  });

  it('expects no denial of a shadow rule', () => {
    const shadow = { ...sliding, shadow: true };
    const denials = denied(shadow, 5, 300);
    expect(denials.isLikelyDenied(shadow, 0)).toBe(false);
    expect(denials.isLikelyDenied({ ...shadow, cost: 9 }, 0)).toBe(false);
    expect(denials.isLikelyDenied(sliding, 0)).toBe(false);
  });

  it('forgets a denial when a request passes, also if a shadow rule would deny it', () => {
    const denials = denied(sliding, 5, 300);
    const shadow = check('other', { kind: { type: 'sliding-window' }, limit: 1, shadow: true });
    const passing = { used: 1, resetAfterMs: 9_000, retryAfterMs: 0, isBlocked: false };
    denials.learn(
      [sliding, shadow],
      [toMeasuredResult(sliding, passing), toMeasuredResult(shadow, { ...passing, retryAfterMs: 300 })],
      0,
    );
    expect(denials.isLikelyDenied(sliding, 0)).toBe(false);
  });
});
