import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, type CheckResult, passesAll } from '../../src/core/check.js';
import { check } from '../support/check.js';
import { BLOCK_MS, checkOf, KIND_CASES, ONE_BLOCK, TYPES } from '../support/kind-checks.js';
import { periodAt } from '../support/random-checks.js';
import { redisSubject, type RedisSubject } from '../support/subjects.js';
import { timedRedis, type TimedRedis } from '../support/timed-subjects.js';

describe('counters of all kinds in Redis', () => {
  let subject: TimedRedis;
  let serial = 0;

  beforeAll(async () => {
    subject = await timedRedis();
  });
  afterAll(() => subject.stop());

  const peek = async (one: Check): Promise<CheckResult> => (await subject.store.peek([one]))[0]!;

  describe.each(KIND_CASES.map((kind) => [kind.name, kind] as const))('of %s', (_, kind) => {
    const counter = (): Check => checkOf(kind, `spoiled-${++serial}`, subject.clock.nowMs);

    it.each<[what: string, spoil: (key: string) => Promise<unknown>]>([
      ['a list', (key) => subject.client.lpush(key, 'x')],
      ['a word', (key) => subject.client.set(key, 'x')],
      ['nothing', (key) => subject.client.set(key, '')],
      ['152 bytes that are not a state', (key) => subject.client.set(key, Buffer.alloc(152, 0xff))],
      ['24 bytes that are not a state', (key) => subject.client.set(key, Buffer.alloc(24, 0xff))],
      ['16 bytes that are not a state', (key) => subject.client.set(key, Buffer.alloc(16, 0xff))],
    ])('fail a request if the key holds %s, and no other request of the call', async (_what, spoil) => {
      const [spoiled, other, alone] = [counter(), counter(), counter()];
      await spoil(subject.full(spoiled.key));
      const [failed, passed] = await Promise.allSettled([
        subject.store.consume([other, spoiled]),
        subject.store.consume([alone]),
      ]);
      expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'FREQ_LIMIT_STORE_FAILED' } });
      expect((failed as PromiseRejectedResult).reason.message).toMatch(/WRONGTYPE|not an integer/);
      expect(passed).toMatchObject({ status: 'fulfilled', value: [{ allowed: true, used: 1 }] });
      expect(await peek(other)).toMatchObject({ used: 0 });
      await expect(Promise.resolve(subject.store.peek([spoiled]))).rejects.toThrow();
      await subject.store.reset([spoiled]);
      expect(await peek(spoiled)).toMatchObject({ allowed: true, used: 0 });
    });

    it('expire with the last of what counts', async () => {
      const one = counter();
      const { resetAfterMs } = (await subject.store.consume([one]))[0]!;
      expect(await subject.timeLeft(one)).toBe(resetAfterMs);
    });
  });

  it('forget the offences of a counter with its reset', async () => {
    const block = { stepsMs: [BLOCK_MS, 2 * BLOCK_MS], forgiveAfterMs: BLOCK_MS };
    const one = checkOf({ type: 'sliding-window', block }, 'offender', subject.clock.nowMs, { limit: 1 });
    const offences = { key: `${one.key}!offences` };
    for (let i = 0; i < 2; i++) await subject.store.consume([one]);
    expect(await subject.timeLeft(offences)).toBe(2 * BLOCK_MS);
    await subject.store.reset([{ ...one, block: undefined }]);
    expect(await subject.timeLeft(one)).toBeUndefined();
    expect(await subject.timeLeft(offences)).toBeUndefined();
  });

  it('count the requests of one call on one calendar, though the next period has begun between them', async () => {
    const { nowMs } = subject.clock;
    const after = periodAt(nowMs, 1_600);
    const before = periodAt(after.startsAtMs - 1, 1_600);
    const of = (kind: typeof before): Check =>
      check('boundary', { kind, windowMs: kind.endsAtMs - kind.startsAtMs, limit: 3, group: 'calendar' });
    expect(of(before).windowMs).not.toBe(of(after).windowMs);
    const turn = [before, after, before, after, after].map(async (kind) => subject.store.consume([of(kind)]));
    const results = (await Promise.all(turn)).flat();
    expect(results.map(({ used, allowed }) => [used, allowed])).toEqual([
      [1, true],
      [2, true],
      [3, true],
      [3, false],
      [3, false],
    ]);
    expect(new Set(results.map(({ resetAfterMs }) => resetAfterMs))).toEqual(
      new Set([after.endsAtMs - nowMs]),
    );
  });
});

describe("counters of all kinds by the server's own clock", () => {
  const WINDOW_MS = 320;
  let subject: RedisSubject;
  let serial = 0;

  beforeAll(async () => {
    subject = await redisSubject();
    await subject.store.open();
  });
  afterAll(() => subject.stop());

  it.each(KIND_CASES.map((kind) => [kind.name, kind] as const))('let who waits pass: %s', async (_, kind) => {
    const block = kind.block && { ...ONE_BLOCK, stepsMs: [WINDOW_MS] };
    const key = `wait-${++serial}`;
    const of = (): Check => checkOf({ ...kind, block }, key, Date.now(), { windowMs: WINDOW_MS, limit: 2 });
    let waits = 0;
    for (let i = 0; i < 50 && waits < 3; i++) {
      const [result] = await subject.store.consume([of()]);
      if (result!.allowed) continue;
      waits++;
      expect(result!.retryAfterMs).toBeGreaterThan(0);
      // a timer may be a millisecond early
      await sleep(result!.retryAfterMs + 2);
      expect((await subject.store.consume([of()]))[0]!.allowed).toBe(true);
    }
    expect(waits).toBeGreaterThan(0);
  });

  /** The moments around a request that passed, by the clock of the test. The server decided it in between. */
  interface Passed {
    readonly sentMs: number;
    readonly answeredMs: number;
  }

  /** Sends requests for a time, several at once, as fast as they are answered. */
  async function flood(of: () => Check, forMs: number): Promise<Passed[]> {
    const passed: Passed[] = [];
    const endsMs = performance.now() + forMs;
    const client = async (): Promise<void> => {
      while (performance.now() < endsMs) {
        const sentMs = performance.now();
        const checks = [of()];
        if (passesAll(checks, await subject.store.consume(checks)))
          passed.push({ sentMs, answeredMs: performance.now() });
      }
    };
    await Promise.all(Array.from({ length: 20 }, client));
    return passed.sort((a, b) => a.sentMs - b.sentMs);
  }

  /** The most that passed for certain within some interval of a length. */
  function mostWithin(passed: readonly Passed[], ms: number): number {
    const counts = passed.map(
      ({ sentMs }) => passed.filter((one) => one.sentMs >= sentMs && one.answeredMs - sentMs <= ms).length,
    );
    return Math.max(...counts);
  }

  it.each(TYPES)('keep the promise of a %s under a flood', async (type) => {
    const limit = 40;
    const key = `flood-${++serial}`;
    const windowMs = type === 'calendar' ? 31_536_000_000 : WINDOW_MS;
    const passed = await flood(
      () => checkOf({ type, block: undefined }, key, Date.now(), { windowMs, limit }),
      1_300,
    );
    const most = {
      'fixed-window': 2 * limit,
      'sliding-window': limit,
      'token-bucket': 2 * limit,
      calendar: limit,
    };
    expect(mostWithin(passed, WINDOW_MS)).toBeLessThanOrEqual(most[type]);
    // and it does let requests pass: a sliding window 3 times, and another one at least as often
    expect(passed.length).toBeGreaterThanOrEqual(type === 'calendar' ? limit : 3 * limit);
  });
});
