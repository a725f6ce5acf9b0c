import type { Block, CounterKind } from '../../../../src/core/counter-kind.js';
import { type CountedCheck, newCounter } from '../../../../src/core/counters/counter.js';
import { decide, type Decision, peek, settle } from '../../../../src/core/counters/decide.js';

const START = 1_760_000_000_000;
const KINDS: CounterKind[] = [
  { type: 'fixed-window' },
  { type: 'calendar', startsAtMs: START - 10, endsAtMs: START + 1_000, nextEndsAtMs: START + 2_000 },
  { type: 'sliding-window' },
  { type: 'token-bucket', burst: 2 },
];
const LADDER: Block = { stepsMs: [5_000, 20_000, 60_000], forgiveAfterMs: 100_000 };

describe.each(KINDS.map((kind) => [kind.type, kind] as const))(
  'the block of a counter of kind %s',
  (_, kind) => {
    const check = (parts: Partial<CountedCheck> = {}): CountedCheck => ({
      kind,
      windowMs: 1_000,
      limit: 2,
      cost: 1,
      countDenied: false,
      shadow: false,
      block: { stepsMs: [5_000], forgiveAfterMs: 100_000 },
      ...parts,
    });

    /** Decides requests on one counter, each `[ms after START, what differs]`. */
    function subject(): (atMs: number, parts?: Partial<CountedCheck>) => Decision {
      const counter = newCounter();
      return (atMs, parts) => decide([check(parts)], [counter], START + atMs)[0]!;
    }

    it('begins with the request that exceeds the limit, and ends after its length', () => {
      const ask = subject();
      expect([ask(0).allowed, ask(0).allowed]).toEqual([true, true]);
      expect(ask(1)).toEqual({
        allowed: false,
        used: 2,
        resetAfterMs: 5_000,
        retryAfterMs: 5_000,
        isBlocked: true,
        token: undefined,
      });
      expect(ask(5_000)).toMatchObject({ allowed: false, isBlocked: true, retryAfterMs: 1 });
      expect(ask(5_001)).toMatchObject({ allowed: true, isBlocked: false, used: 1 });
    });

    it('is not prolonged, and charges nothing', () => {
      const ask = subject();
      for (let i = 0; i < 3; i++) ask(0, { countDenied: true });
      for (let ms = 100; ms < 5_000; ms += 100) expect(ask(ms, { countDenied: true }).isBlocked).toBe(true);
      expect(ask(5_000)).toMatchObject({ allowed: true, used: 1 });
    });

    it('lasts at least until the counter is as new', () => {
      const block = { stepsMs: [1], forgiveAfterMs: 1 };
      const ask = subject();
      ask(0, { block });
      const { resetAfterMs } = ask(0, { block });
      expect(ask(0, { block }).retryAfterMs).toBe(resetAfterMs);
      expect(ask(resetAfterMs - 1, { block }).isBlocked).toBe(true);
      expect(ask(resetAfterMs, { block })).toMatchObject({ allowed: true, used: 1 });
    });

    it('takes the next step for each further offence, and the first one again after a while', () => {
      const ask = subject();
      let atMs = 0;
      const offend = (): number => {
        for (let i = 0; i < 2; i++) expect(ask(atMs, { block: LADDER }).allowed).toBe(true);
        return ask(atMs, { block: LADDER }).retryAfterMs;
      };
      for (const step of [5_000, 20_000, 60_000, 60_000]) {
        expect(offend()).toBe(step);
        atMs += step;
      }
      // the last millisecond that counts, from the end of the block
      atMs += 100_000;
      expect(offend()).toBe(60_000);
      atMs += 60_000 + 100_001;
      expect(offend()).toBe(5_000);
    });

    it('does not begin if only another check denies the request', () => {
      const [counter, other] = [newCounter(), newCounter()];
      const shut = check({ limit: 0, kind: { type: 'fixed-window' }, block: undefined });
      for (let i = 0; i < 5; i++) decide([check(), shut], [counter, other], START);
      expect(peek(check(), counter, START)).toMatchObject({ allowed: true, used: 0, isBlocked: false });
    });

    it('begins if the check denies the request as well as another one', () => {
      const [counter, other] = [newCounter(), newCounter()];
      const shut = check({ limit: 0, kind: { type: 'fixed-window' }, block: undefined });
      for (let i = 0; i < 2; i++) decide([check()], [counter], START);
      const results = decide([check(), shut], [counter, other], START);
      expect(results.map(({ isBlocked }) => isBlocked)).toEqual([true, false]);
    });

    it('does not begin by a request that could never pass', () => {
      expect(subject()(0, { cost: 3 })).toMatchObject({ allowed: false, isBlocked: false });
    });

    it('does not begin by a peek, or by a request that costs nothing', () => {
      const counter = newCounter();
      for (let i = 0; i < 2; i++) decide([check()], [counter], START);
      expect(peek(check(), counter, START)).toMatchObject({ allowed: false, isBlocked: false });
      const burst = {
        ...check({ cost: 0, limit: 1 }),
        ...(kind.type === 'token-bucket' && { kind: { ...kind, burst: 1 } }),
      };
      expect(decide([burst], [counter], START)[0]).toMatchObject({ allowed: false, isBlocked: false });
    });

    it('is not lifted by a refund', () => {
      const counter = newCounter();
      const [{ token } = { token: 0 }] = decide([check()], [counter], START);
      for (let i = 0; i < 2; i++) decide([check()], [counter], START);
      expect(settle(check(), counter, { token: token ?? 0, cost: 0 }, START)).toMatchObject({
        isBlocked: true,
        used: 2,
      });
      expect(peek(check(), counter, START + 4_999).isBlocked).toBe(true);
    });

    it('also denies what costs nothing, but not what has no limit', () => {
      const ask = subject();
      for (let i = 0; i < 3; i++) ask(0);
      expect(ask(10, { cost: 0 })).toMatchObject({ allowed: false, isBlocked: true });
      const free =
        kind.type === 'token-bucket' ? { kind: { ...kind, burst: Infinity } } : { limit: Infinity };
      expect(ask(10, free)).toMatchObject({ allowed: true, isBlocked: false, used: 0, resetAfterMs: 4_990 });
    });

    it('of a shadow rule denies no request', () => {
      const [counter, other] = [newCounter(), newCounter()];
      const shadow = check({ shadow: true });
      const real = check({ limit: 100, kind: { type: 'fixed-window' } });
      const results = [1, 2, 3, 4].map(() => decide([shadow, real], [counter, other], START));
      expect(results.map(([first]) => first?.isBlocked)).toEqual([false, false, true, true]);
      expect(results.map(([, second]) => second?.used)).toEqual([1, 2, 3, 4]);
    });

    it('ends after its length if the clock was set back', () => {
      const ask = subject();
      for (let i = 0; i < 3; i++) ask(0);
      expect(ask(-1_000_000_000).retryAfterMs).toBeLessThanOrEqual(1_000_003_000);
      const { retryAfterMs } = ask(-1_000_000_000);
      expect(ask(-1_000_000_000 + retryAfterMs).allowed).toBe(true);
    });
  },
);
