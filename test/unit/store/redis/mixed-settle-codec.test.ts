import { type Check, toMeasuredResult } from '../../../../src/core/check.js';
import {
  encodeMixedSettlements,
  readMixedSettlements,
} from '../../../../src/store/redis/mixed-settle-codec.js';
import type { SettledCharge } from '../../../../src/store/redis/settle-codec.js';
import { check } from '../../../support/check.js';
import { pack } from '../../../support/message-pack.js';

const sliding = check('s', { kind: { type: 'sliding-window' }, limit: 5 });
const bucket = check('b', {
  kind: { type: 'token-bucket', burst: 8 },
  limit: 6,
  cost: 2,
  block: { stepsMs: [5_000], forgiveAfterMs: 9_000 },
});
const plain = check('f', { limit: 5 });

function refundOf(check: Check, used: number, retryAfterMs = 0): SettledCharge {
  const measured = { used, resetAfterMs: 9_000, retryAfterMs, isBlocked: false };
  return { check, result: toMeasuredResult(check, measured), token: 1_700, cost: 0 };
}

describe('encodeMixedSettlements', () => {
  it('has a request for each settlement, and each counter once', () => {
    const { keys, args } = encodeMixedSettlements([
      refundOf(sliding, 1),
      refundOf(bucket, 2),
      refundOf(sliding, 1),
    ]);
    expect(keys).toEqual(['s', 'b']);
    expect(args.map((arg) => JSON.parse(arg) as unknown)).toEqual([
      [
        '-1,1700,1,8,0,0,-2,1700,2,8,0,0,-1,1700,1,8,0,0,',
        ...[3, 60_000, 5, -1, 1, 0],
        ...[14, 60_000, 6, -1, 1, 5, 6, 8, 9_000, 1, 5_000],
      ],
    ]);
  });
});

describe('readMixedSettlements', () => {
  it('returns what counts now, and keeps what was decided', () => {
    const refunds = [refundOf(sliding, 3), refundOf(bucket, 4, 700), refundOf(plain, 2)];
    const results = readMixedSettlements(refunds, pack([1, 2, 8_000, 0, 1, 3_000, 0, 0, 0, 0]));
    expect(results).toMatchObject([
      { name: 's', allowed: true, used: 2, remaining: 3, resetAfterMs: 8_000, retryAfterMs: 0 },
      { name: 'b', allowed: false, used: 1, remaining: 7, resetAfterMs: 3_000, retryAfterMs: 700 },
      { name: 'f', allowed: true, used: 0, remaining: 5, resetAfterMs: 0, retryAfterMs: 0 },
    ]);
  });

  it('has the state after the last refund for a counter that occurs several times', () => {
    const refunds = [refundOf(sliding, 3), refundOf(sliding, 3)];
    const results = readMixedSettlements(refunds, pack([1, 2, 8_000, 0, 1, 7_000, 0]));
    expect(results.map(({ used, resetAfterMs }) => [used, resetAfterMs])).toEqual([
      [1, 7_000],
      [1, 7_000],
    ]);
  });

  it('has the limit as the units of a counter that is blocked now', () => {
    const [result] = readMixedSettlements([refundOf(bucket, 2)], pack([1, 0, 5_000, -5_000]));
    expect(result).toMatchObject({
      allowed: true,
      used: 8,
      remaining: 0,
      resetAfterMs: 5_000,
      retryAfterMs: 0,
    });
    const unlimited = { ...sliding, limit: Infinity };
    expect(readMixedSettlements([refundOf(unlimited, 2)], pack([1, 0, 5_000, 0]))).toMatchObject([
      { used: 0 },
    ]);
  });

  it('keeps the result of a key that is not a counter any more', () => {
    const refund = refundOf(sliding, 3);
    expect(readMixedSettlements([refund], pack([1, 'WRONGTYPE no', 0, 0]))).toEqual([refund.result]);
  });

  it.each([
    ['nothing', []],
    ['the form without answers for each check', [0, 1, 9_000]],
    ['too few numbers', [1, 1, 9_000]],
    ['too many numbers', [1, 1, 9_000, 0, 0]],
  ])('throws for %s, which the script never returns', (_, values) => {
    expect(() => readMixedSettlements([refundOf(sliding, 1)], pack(values))).toThrow(
      'it is not a reply of the script',
    );
  });
});
