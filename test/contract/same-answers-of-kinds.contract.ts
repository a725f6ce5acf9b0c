import fc from 'fast-check';
import { type Check, type CheckResult, passesAll } from '../../src/core/check.js';
import type { MaybePromise } from '../../src/core/maybe-promise.js';
import { checkOn, type CounterSpec, skews, specs, type Use, uses } from '../support/random-checks.js';
import { timedMemory, type TimedRedis, type TimedSubject } from '../support/timed-subjects.js';

// Memory against Redis, with counters of all kinds: the same random history at the same times, the same answers to the
// millisecond.

const VAST = 2 ** 52;

type Operation =
  | { readonly type: 'consume' | 'peek'; readonly uses: readonly Use[]; readonly skew: number }
  | {
      readonly type: 'settle';
      readonly which: number;
      readonly twice: boolean;
      /** What the request really used of each check, as a part of what it was charged, plus some units. */
      readonly costs: readonly (readonly [part: number, more: number])[];
    }
  | { readonly type: 'renew'; readonly part: number }
  | { readonly type: 'reset'; readonly uses: readonly Use[] }
  | { readonly type: 'advance'; readonly ms: number };

export interface HistoryOptions {
  /** Whether there are limits and costs up to 2^53 - 1. */
  readonly hasVast?: boolean;
  /**
   * Whether requests are split. Then what a denied one is charged, because of countDenied, cannot be refunded, and the wait of a
   * shadow rule includes the charge that was refunded.
   */
  readonly isSplit?: boolean;
}

function operations({ hasVast = true }: HistoryOptions): fc.Arbitrary<Operation> {
  const more = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(0, 0, 1, 2, 7) },
    fc.constant(hasVast ? VAST : 30),
  );
  const some = fc.array(uses({ hasVast }), { minLength: 1, maxLength: 4 });
  return fc.oneof(
    { weight: 10, arbitrary: fc.record({ type: fc.constant('consume' as const), uses: some, skew: skews }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('peek' as const), uses: some, skew: skews }) },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('settle' as const),
        which: fc.nat(),
        twice: fc.boolean(),
        costs: fc.array(fc.tuple(fc.constantFrom(0, 0, 0.5, 1, 1), more), { minLength: 4, maxLength: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('reset' as const), uses: some }) },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('renew' as const), part: fc.constantFrom(1, 2, 3) }),
    },
    {
      weight: 7,
      arbitrary: fc.record({
        type: fc.constant('advance' as const),
        ms: fc.oneof(
          { weight: 8, arbitrary: fc.constantFrom(1, 1, 2, 6, 7, 20, 62, 63, 99, 400, 999, 5_000, 10_001) },
          fc.constant(40_000_000_000),
        ),
      }),
    },
  );
}

/** A request that was charged, and its results by store. */
interface Charged {
  readonly checks: readonly Check[];
  readonly results: readonly (readonly CheckResult[])[];
}

/** A history on several stores. The first one is the model. */
class History {
  private charged: Charged[] = [];

  constructor(
    private readonly list: readonly CounterSpec[],
    private readonly subjects: readonly TimedSubject[],
    private readonly options: HistoryOptions,
  ) {}

  async play(operation: Operation): Promise<void> {
    switch (operation.type) {
      case 'advance':
        this.subjects[0]!.clock.nowMs += operation.ms;
        return;
      case 'reset': {
        const checks = this.checksOf(operation.uses);
        await Promise.all(this.subjects.map(async ({ store }) => store.reset(checks)));
        // Redis cannot tell a counter that was reset from the one that follows in the same window
        const keys = checks.map(({ key }) => key);
        this.charged = this.charged.filter((one) => !one.checks.some(({ key }) => keys.includes(key)));
        return;
      }
      case 'renew':
        await this.renew(operation.part);
        return;
      case 'settle':
        await this.settle(operation.which, operation.twice, operation.costs);
        return;
      case 'peek': {
        const checks = this.checksOf(operation.uses, operation.skew);
        await this.same([], (store) => store.peek(checks));
        return;
      }
      case 'consume': {
        const checks = this.checksOf(operation.uses, operation.skew);
        const results = await this.same(checks, (store) => store.consume(checks, true));
        if (!this.options.isSplit || passesAll(checks, results[0]!)) this.charged.push({ checks, results });
      }
    }
  }

  /** Renews the leases of all requests, or of every second or third one; also those that were denied, lapsed or released. */
  private async renew(part: number): Promise<void> {
    const leases = this.charged
      .flatMap(({ checks }) => checks)
      .filter(({ lease, cost }) => lease && cost > 0);
    const some = leases.filter((_, i) => i % part === 0);
    const [expected, ...others] = await Promise.all(
      this.subjects.map(async ({ store }) => store.renew(some)),
    );
    for (const other of others) expect(other).toEqual(expected);
  }

  private async settle(
    which: number,
    twice: boolean,
    parts: readonly (readonly [part: number, more: number])[],
  ): Promise<void> {
    if (this.charged.length === 0) return;
    const index = which % this.charged.length;
    const { checks, results } = this.charged[index]!;
    if (!twice) this.charged.splice(index, 1);
    // no process knows the periods after the next one
    if (checks.some((check) => isLongOver(check, this.subjects[0]!.clock.nowMs))) return;
    const costs = checks.map(({ cost }, i) => {
      const [part, units] = parts[i]!;
      return Math.min(Math.floor(cost * part) + units, Number.MAX_SAFE_INTEGER);
    });
    // a second settlement returns the results as they are
    await this.same(checks, (store, i) => store.settle(checks, results[i]!, costs));
  }

  private checksOf(all: readonly Use[], skew = 0): Check[] {
    const { nowMs } = this.subjects[0]!.clock;
    const checks = all.map((use) => checkOn(this.list, use, nowMs, skew));
    return this.options.isSplit ? [...new Map(checks.map((one) => [one.key, one])).values()] : checks;
  }

  private async same(
    charged: readonly Check[],
    call: (store: TimedSubject['store'], i: number) => MaybePromise<CheckResult[]>,
  ): Promise<CheckResult[][]> {
    const all: CheckResult[][] = [];
    for (const [i, { store }] of this.subjects.entries()) all.push(await call(store, i));
    const [expected, ...others] = all;
    for (const other of others) {
      expect(this.options.isSplit ? withoutShadowWaits(charged, other, expected!) : other).toEqual(expected);
    }
    return all;
  }
}

function isLongOver({ kind }: Check, nowMs: number): boolean {
  return kind.type === 'calendar' && kind.nextEndsAtMs <= nowMs;
}

function withoutShadowWaits(
  checks: readonly Check[],
  results: readonly CheckResult[],
  expected: readonly CheckResult[],
): CheckResult[] {
  return results.map((result, i) => {
    const { retryAfterMs } = expected[i]!;
    const bothWait = result.retryAfterMs > 0 && retryAfterMs > 0;
    return checks[i]?.shadow === true && bothWait ? { ...result, retryAfterMs } : result;
  });
}

/** The memory store and another one give the same answers to the same histories, with counters of all kinds. */
export function describeSameAnswersOfKinds(
  name: string,
  start: () => Promise<TimedRedis>,
  histories: number,
  options: HistoryOptions = {},
): void {
  describe(`the memory store and ${name}`, () => {
    let redis: TimedRedis;

    beforeAll(async () => {
      redis = await start();
    });
    afterAll(() => redis.stop());

    it(`give the same answers to the same ${histories} histories of all kinds`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(specs(options), { minLength: 1, maxLength: 4 }),
          fc.array(operations(options), { minLength: 1, maxLength: 40, size: 'max' }),
          async (list, history) => {
            await redis.clear();
            const memory = timedMemory(redis.clock);
            const both = new History(list, [memory, redis], options);
            for (const operation of history) await both.play(operation);
            expect(await redis.sweep()).toEqual([]);
          },
        ),
        { numRuns: histories, ...(process.env['SEED'] ? { seed: Number(process.env['SEED']) } : {}) },
      );
    }, 600_000);
  });
}
