import type { Check, CheckResult } from '../../../../src/core/check.js';
import { toMeasuredResult } from '../../../../src/core/check.js';
import type { SettledCharge } from '../../../../src/store/redis/settle-codec.js';
import { SettleCoalescer } from '../../../../src/store/redis/settle-coalescer.js';
import { check } from '../../../support/check.js';

function chargeOf(one: Check): SettledCharge {
  const measured = { used: 1, resetAfterMs: 9, retryAfterMs: 0, isBlocked: false };
  return { check: one, result: toMeasuredResult(one, measured), token: 1, cost: 0 };
}

function subject(coalesce = true) {
  const calls: string[][] = [];
  const coalescer = new SettleCoalescer((charges) => {
    calls.push(charges.map(({ check: { key } }) => key));
    return Promise.resolve(charges.map(({ result }, i) => ({ ...result, used: i })));
  }, coalesce);
  const settle = (tag: string, ...checks: Check[]): Promise<readonly CheckResult[]> =>
    coalescer.add(tag, checks.map(chargeOf));
  return { calls, coalescer, settle };
}

const plain = (key: string): Check => check(key);
const sliding = (key: string): Check => check(key, { kind: { type: 'sliding-window' } });
const bucket = (key: string, limit: number): Check =>
  check(key, { kind: { type: 'token-bucket', burst: 5 }, limit });

describe('the settlements of one turn', () => {
  it('share a call, and each request gets its own results', async () => {
    const { calls, settle } = subject();
    const results = await Promise.all([
      settle('', plain('a'), plain('b')),
      settle('', plain('a')),
      settle('', plain('c'), plain('d')),
    ]);
    expect(calls).toEqual([['a', 'b', 'a', 'c', 'd']]);
    expect(results.map((own) => own.map(({ used }) => used))).toEqual([[0, 1], [2], [3, 4]]);
  });

  it('have another call for other kinds of counters, and for each hash tag', async () => {
    const { calls, settle } = subject();
    await Promise.all([
      settle('x', plain('a')),
      settle('y', plain('b')),
      settle('x', sliding('c'), plain('d')),
      settle('y', plain('e')),
      settle('x', sliding('f')),
    ]);
    expect(calls).toEqual([['a'], ['b', 'e'], ['c', 'd', 'f']]);
  });

  it('have at most 128 counters and 256 checks in a call, but never split a request', async () => {
    const { calls, settle } = subject();
    const many = (count: number, name = 'k'): Check[] =>
      Array.from({ length: count }, (_, i) => plain(`${name}${i}`));
    await Promise.all([
      settle('', ...many(100)),
      settle('', ...many(28, 'm')),
      settle('', plain('one more')),
    ]);
    expect(calls.map(({ length }) => length)).toEqual([128, 1]);
    await Promise.all(Array.from({ length: 300 }, () => settle('', plain('a'))));
    await settle('', ...many(300));
    expect(calls.map(({ length }) => length)).toEqual([128, 1, 256, 44, 300]);
  });

  it('have another call if a bucket refills differently, or a counter has other blocks', async () => {
    const { calls, settle } = subject();
    const block = { stepsMs: [1], forgiveAfterMs: 1 };
    await Promise.all([
      settle('', bucket('a', 1), { ...sliding('b'), block }),
      settle('', bucket('a', 1), { ...sliding('b'), block }),
      settle('', bucket('a', 2)),
      settle('', bucket('a', 2), { ...sliding('b'), block }),
      settle('', sliding('b')),
    ]);
    expect(calls).toEqual([['a', 'b', 'a', 'b'], ['a', 'a', 'b'], ['b']]);
  });

  it('are sent at once without coalescing, and by a flush', async () => {
    const alone = subject(false);
    const settled = [alone.settle('', plain('a')), alone.settle('', plain('b'))];
    expect(alone.calls).toEqual([['a'], ['b']]);
    const { calls, coalescer, settle } = subject();
    settled.push(settle('', plain('a')));
    coalescer.flush();
    expect(calls).toEqual([['a']]);
    await Promise.all(settled);
    await new Promise(setImmediate);
    expect(calls).toEqual([['a']]);
  });

  it('share the error of their call', async () => {
    const failing = new SettleCoalescer(() => Promise.reject(new Error('gone')), true);
    const both = [plain('a'), plain('b')].map((one) => failing.add('', [chargeOf(one)]));
    expect(await Promise.allSettled(both)).toMatchObject([
      { reason: { message: 'gone' } },
      { reason: { message: 'gone' } },
    ]);
  });
});
