import type { Check } from '../../../../src/core/check.js';
import { Breaker } from '../../../../src/store/redis/breaker.js';
import { Renewals, type RenewalsParts } from '../../../../src/store/redis/renewals.js';
import type { ScriptCall } from '../../../../src/store/redis/sender.js';
import { check } from '../../../support/check.js';
import { pack } from '../../../support/message-pack.js';

let serial = 0;
const lease = (key: string): Check =>
  check(key, { kind: { type: 'concurrency' }, windowMs: 15_000, lease: `lease-${++serial}` });

/** Notes what the health of the server gets. */
function noted(lines: string[]) {
  return { noteSuccess: () => lines.push('back'), noteFailure: () => lines.push('still away') };
}

/** Renewals on a server whose answers the test makes. */
function make(answer: (call: ScriptCall) => unknown) {
  const calls: string[][] = [];
  const lines: string[] = [];
  const clock = { nowMs: 0 };
  const breaker = new Breaker('server', () => clock.nowMs);
  const parts = {
    sender: {
      call: async (_: unknown, call: ScriptCall) => {
        calls.push([...call.keys]);
        return Promise.resolve(answer(call));
      },
    },
    servers: { of: () => 'server' },
    health: { breakerOf: () => breaker, logOutage: () => lines.push('outage'), ...noted(lines) },
    log: { error: (code: string) => lines.push(code) },
    timeoutMs: 1_000,
  } as unknown as RenewalsParts;
  return { renewals: new Renewals(parts), calls, lines, breaker, clock };
}

/** Each lease was still there, apart from that of a key. */
function wereThere(args: readonly string[], keys: readonly string[], gone = ''): Buffer {
  const values = JSON.parse(args[0]!) as (number | string)[];
  const answers: number[] = [];
  let at = 0;
  for (const key of keys) {
    const count = Number(values[at + 1]);
    for (let i = 0; i < count; i++) answers.push(key === gone ? 0 : 1);
    at += 2 + count;
  }
  return pack(answers);
}

describe('Renewals', () => {
  it('calls each key on its own while a slot moves, and returns the outcomes in order', async () => {
    const { renewals, calls, lines } = make(({ keys, args }) => {
      if (keys.length > 1) throw new Error('TRYAGAIN Multiple keys request during rehashing of slot');
      return wereThere(args, keys, 'b');
    });
    const renewed = await renewals.renew([lease('a'), lease('b'), lease('a'), lease('c')]);
    expect(renewed).toEqual([true, false, true, true]);
    expect(calls).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']]);
    expect(lines).toEqual([]);
  });

  it('returns undefined for the leases of a call that failed, and the outcomes of other calls', async () => {
    const { renewals, lines } = make(({ keys, args }) => {
      if (keys.includes('bad')) throw new Error('NOPERM');
      return wereThere(args, keys);
    });
    const all = [...Array.from({ length: 256 }, () => lease('good')), lease('bad'), lease('good')];
    const renewed = await renewals.renew(all);
    expect(renewed.filter((wasThere) => wasThere === true)).toHaveLength(256);
    expect(renewed.at(-2)).toBeUndefined();
    expect(lines).toEqual(['FREQ_LIMIT_RENEWAL_FAILED']);
  });

  it('fails for a reply of another length, or with other values', async () => {
    for (const reply of [pack([1]), pack([1, 2])]) {
      const { renewals, lines } = make(() => reply);
      expect(await renewals.renew([lease('a'), lease('a')])).toEqual([undefined, undefined]);
      expect(lines).toEqual(['FREQ_LIMIT_RENEWAL_FAILED']);
    }
  });

  it('makes no call in the pause of a server that is away, and logs nothing of its own', async () => {
    const { renewals, calls, lines, breaker } = make(() => pack([1]));
    breaker.open('away');
    expect(await renewals.renew([lease('a'), lease('b')])).toEqual([undefined, undefined]);
    expect(calls).toEqual([]);
    expect(lines).toEqual(['outage']);
  });

  it('finds out after the pause whether the server is back', async () => {
    let isBack = false;
    const { renewals, calls, lines, breaker, clock } = make(() => {
      if (!isBack) throw new Error('Connection is closed');
      return pack([1]);
    });
    breaker.open('away');
    clock.nowMs = 2_000;
    expect(await renewals.renew([lease('a')])).toEqual([undefined]);
    isBack = true;
    clock.nowMs = 4_000;
    expect(await renewals.renew([lease('a')])).toEqual([true]);
    expect(calls).toHaveLength(2);
    expect(lines).toEqual(['still away', 'FREQ_LIMIT_RENEWAL_FAILED', 'back']);
  });

  it('makes no call without leases', async () => {
    const { renewals, calls } = make(() => pack([]));
    expect(await renewals.renew([])).toEqual([]);
    expect(calls).toEqual([]);
  });
});
