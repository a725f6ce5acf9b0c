import { denialOf } from '../../../src/answers/denial.js';
import type { Check, CheckResult } from '../../../src/core/check.js';
import { toVerdict } from '../../../src/core/verdict.js';
import type { PlannedCheck } from '../../../src/rules/to-checks.js';
import { check } from '../../support/check.js';
import { result } from '../fixtures.js';

const BUCKET = { type: 'token-bucket', burst: 5 } as const;
const NEVER = 'This request costs more than a limit allows at once, so it cannot pass.';

function messageFor(...checks: readonly (Partial<Check> & { readonly isDenied?: boolean })[]): string {
  const planned = checks.map((parts, i) => ({
    ...check(`check ${i}`, parts),
    rule: {},
    aboveShare: undefined,
  }));
  const verdict = toVerdict(
    checks.map(({ isDenied = true }) => result({ allowed: !isDenied, retryAfterMs: isDenied ? 8_000 : 0 })),
  );
  return denialOf(verdict, planned as unknown as PlannedCheck[]).message;
}

describe('the message of a denial', () => {
  it('says that a request costs more than a token bucket contains', () => {
    expect(messageFor({ kind: BUCKET, cost: 6 })).toBe(NEVER);
    expect(messageFor({}, { kind: BUCKET, cost: 6 })).toBe(NEVER);
  });

  it.each<[string, Partial<Check> & { isDenied?: boolean }]>([
    ['a token bucket without enough units', { kind: BUCKET, cost: 5 }],
    ['a token bucket that contains nothing', { kind: { ...BUCKET, burst: 0 }, cost: 1 }],
    ['a fixed window', { limit: 5, cost: 6 }],
  ])('says how long to wait for %s', (_, parts) => {
    expect(messageFor(parts)).toBe('Too many requests. Try again in 8 seconds.');
  });

  it('says that too many requests run at once, unless another wait is longer', () => {
    const busy = result({ allowed: false, retryAfterMs: 1_000, concurrency: true });
    const slow = result({ allowed: false, retryAfterMs: 8_000 });
    const message = (...results: CheckResult[]): string => denialOf(toVerdict(results), []).message;
    expect(message(busy)).toBe('Too many requests at once. Try again in 1 second.');
    expect(message(busy, slow)).toBe('Too many requests. Try again in 8 seconds.');
  });

  it('says how long to wait if another limit denies the request', () => {
    expect(messageFor({}, { kind: BUCKET, cost: 6, isDenied: false })).toBe(
      'Too many requests. Try again in 8 seconds.',
    );
  });
});
