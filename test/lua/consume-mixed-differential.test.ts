import fc from 'fast-check';
import type { Block, CounterKind } from '../../src/core/counter-kind.js';
import { type Counter, newCounter } from '../../src/core/counters/counter.js';
import { decide, type Decision, peek, settle } from '../../src/core/counters/decide.js';
import { FakeTimeScript } from '../support/fake-time.js';
import { type Answer, type KeyedCheck, type MixedRequest } from '../support/mixed-script.js';
import { keysOf } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';

// The script against its twin: the same random history at the same times, the same answers, to the millisecond.

const HISTORIES = Number(process.env['DIFFERENTIAL_RUNS'] ?? 600);
const MAX = Number.MAX_SAFE_INTEGER;
const START = 1_760_000_000_000;
const MAX_WAIT_MS = 100_000_000_000;

const blocks: fc.Arbitrary<Block | undefined> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  fc.record({
    stepsMs: fc.array(fc.constantFrom(1, 40, 300, 1_000, 20_000), { minLength: 1, maxLength: 3 }),
    forgiveAfterMs: fc.constantFrom(1, 500, 50_000),
  }),
);

const kinds: fc.Arbitrary<CounterKind> = fc.oneof(
  fc.constant<CounterKind>({ type: 'fixed-window' }),
  fc
    .record({
      startsAtMs: fc.constantFrom(START - 700, START - 50, START + 300),
      length: fc.constantFrom(100, 1_000),
    })
    .map(({ startsAtMs, length }): CounterKind => ({
      type: 'calendar',
      startsAtMs,
      endsAtMs: startsAtMs + length,
      nextEndsAtMs: startsAtMs + 2 * length + 20,
    })),
  { weight: 3, arbitrary: fc.constant<CounterKind>({ type: 'sliding-window' }) },
  { weight: 2, arbitrary: fc.constant<CounterKind>({ type: 'concurrency' }) },
  {
    weight: 3,
    arbitrary: fc
      .oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 8 }) }, fc.constantFrom(MAX, Infinity))
      .map((burst): CounterKind => ({ type: 'token-bucket', burst })),
  },
);

/** What all checks of a counter have in common. */
const counters = fc.record({
  kind: kinds,
  windowMs: fc.oneof(
    fc.constantFrom(1, 2, 7, 15, 16, 17, 100, 1_000, 10_000),
    fc.constantFrom(31_536_000_000, 2 ** 52 + 1),
  ),
  limit: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: 8 }) },
    fc.constantFrom(1_000, 2 ** 40 + 1, MAX, Infinity),
  ),
  block: blocks,
});

const uses = fc.record({
  at: fc.nat(3),
  limit: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: 8 }) },
    fc.constantFrom(MAX - 1, Infinity),
  ),
  cost: fc.oneof(
    { weight: 12, arbitrary: fc.constant(1) },
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 10 }) },
    fc.constantFrom(2 ** 52, MAX),
  ),
  countDenied: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
  shadow: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.boolean()),
});

type Use = typeof uses extends fc.Arbitrary<infer T> ? T : never;
type CounterSpec = typeof counters extends fc.Arbitrary<infer T> ? T : never;

type Operation =
  | { readonly type: 'call'; readonly requests: readonly Wish[]; readonly mustRead: boolean }
  | { readonly type: 'advance'; readonly ms: number }
  | { readonly type: 'wait'; readonly which: number; readonly off: number };

type Wish =
  | { readonly type: 'consume' | 'peek'; readonly uses: readonly Use[] }
  | { readonly type: 'settle'; readonly which: number; readonly cost: number | 'cost' };

/** What a request really used: as much as it was charged, less or more. */
const settledCosts = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 8, arbitrary: fc.nat(12) },
  fc.constantFrom('cost' as const, 100, 2 ** 52, MAX),
);

const wishes: fc.Arbitrary<Wish> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constantFrom('consume', 'consume', 'consume', 'peek'),
      uses: fc.array(uses, { minLength: 1, maxLength: 4 }),
    }),
  },
  fc.record({ type: fc.constant('settle'), which: fc.nat(), cost: settledCosts }),
);

const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('call'),
      requests: fc.array(wishes, { minLength: 1, maxLength: 4 }),
      mustRead: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('wait'),
      which: fc.nat(),
      off: fc.constantFrom(-1, 0, 0, 0, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('advance'),
      ms: fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(1, 1, 2, 6, 7, 20, 62, 63, 99, 400, 999, 5_000, 10_001) },
        fc.constantFrom(-1, -70, -2_000, 40_000_000_000),
      ),
    }),
  },
);

/** A charge that can be settled. */
interface Charge {
  readonly check: KeyedCheck;
  readonly token: number;
}

/** With refunds, or with a clock that is set back: what a refund leaves of charges that count no more may then differ. */
type Way = 'refunds' | 'clock set back';

/** A history on the script and on its twin. */
class History {
  private readonly counters: readonly Counter[];
  private readonly charges: Charge[] = [];
  /** The times until which clients must wait, according to their denials. */
  private waits: number[] = [];

  constructor(
    private readonly specs: readonly CounterSpec[],
    private readonly script: FakeTimeScript,
    private readonly key: (index: number) => string,
    private readonly way: Way,
  ) {
    this.counters = specs.map(newCounter);
  }

  async play(operation: Operation): Promise<void> {
    if (operation.type === 'advance') {
      this.script.nowMs += this.way === 'refunds' ? Math.abs(operation.ms) : operation.ms;
      return;
    }
    if (operation.type === 'wait') {
      // exactly as long as the script said, or a millisecond off
      const atMs = this.waits[operation.which % this.waits.length];
      if (atMs !== undefined) this.script.nowMs = Math.max(atMs + operation.off, this.script.nowMs);
      return;
    }
    const requests = operation.requests.flatMap((wish) => this.requestOf(wish));
    // a call settles, or does anything else
    await this.call(
      requests.filter(({ type }) => type !== 'settle'),
      operation.mustRead,
    );
    await this.call(
      requests.filter(({ type }) => type === 'settle'),
      true,
    );
  }

  private async call(requests: readonly MixedRequest[], mustRead: boolean): Promise<void> {
    if (requests.length === 0) return;
    const expected = requests.map((request) => this.answer(request));
    const answers = await this.script.call(requests, mustRead);
    expectSame(answers, expected);
    requests.forEach((request, i) => this.noteCharges(request, answers[i]!, expected[i]!));
    const lives = this.specs.flatMap(({ kind, windowMs }) => (kind.type === 'concurrency' ? [windowMs] : []));
    const waits = expected.flat().flatMap(({ retryAfterMs, resetAfterMs }) => [retryAfterMs, resetAfterMs]);
    waits.push(...lives);
    this.waits = waits.filter((ms) => ms < MAX_WAIT_MS).map((ms) => this.script.nowMs + ms);
  }

  private requestOf(wish: Wish): MixedRequest[] {
    if (wish.type !== 'settle')
      return [{ type: wish.type, checks: wish.uses.map((use) => this.checkOf(use)) }];
    if (this.way !== 'refunds' || this.charges.length === 0) return [];
    const [charge] = this.charges.splice(wish.which % this.charges.length, 1);
    return [{ type: 'settle', ...charge!, cost: wish.cost === 'cost' ? charge!.check.cost : wish.cost }];
  }

  private checkOf({ at, limit, ...use }: Use): KeyedCheck {
    const index = at % this.specs.length;
    const spec = this.specs[index]!;
    const isLease = spec.kind.type === 'concurrency';
    // what flows into a bucket is the same for all of its checks
    return {
      ...spec,
      ...use,
      ...(isLease && leaseParts(use.cost)),
      limit: spec.kind.type === 'token-bucket' ? spec.limit : limit,
      key: this.key(index),
    };
  }

  private answer(request: MixedRequest): Decision[] {
    const { nowMs } = this.script;
    if (request.type === 'settle') {
      const { check } = request;
      return [settle(check, this.counterOf(check), request, nowMs)];
    }
    const { checks } = request;
    const own = checks.map((check) => this.counterOf(check));
    return request.type === 'peek'
      ? checks.map((check, i) => peek(check, own[i]!, nowMs))
      : decide(checks, own, nowMs);
  }

  private counterOf({ key }: KeyedCheck): Counter {
    return this.counters[this.specs.findIndex((_, i) => this.key(i) === key)]!;
  }

  private noteCharges(request: MixedRequest, answer: Answer, expected: readonly Decision[]): void {
    if (request.type !== 'consume' || typeof answer === 'string') return;
    request.checks.forEach((check, i) => {
      const { token } = answer[i]!;
      // a blocked counter is not refunded: its token has no meaning
      if (this.counterOf(check).blockedUntilMs === undefined) expectSameToken(token, expected[i]!.token);
      if (token !== undefined) this.charges.push({ check, token });
    });
  }
}

let leases = 0;

/** What all checks of concurrency counters have in common. */
function leaseParts(cost: number): Partial<KeyedCheck> {
  return { cost: Math.min(cost, 1), countDenied: false, block: undefined, lease: `lease-${++leases}` };
}

function expectSame(answers: readonly Answer[], expected: readonly Answer[]): void {
  expect(answers.map(withoutTokens)).toEqual(expected.map(withoutTokens));
}

function expectSameToken(token: number | undefined, expected: number | undefined): void {
  expect(token).toBe(expected);
}

function withoutTokens(answer: Answer): unknown {
  if (typeof answer === 'string') return answer;
  return answer.map((decision) => ({ ...decision, token: undefined }));
}

describe('lua/consume-mixed.lua and its twin', () => {
  const suite = redisSuite();
  let run = 0;

  async function playBoth(
    specs: readonly CounterSpec[],
    history: readonly Operation[],
    way: Way,
  ): Promise<void> {
    // leases from the future are found only when they deny
    if (way === 'clock set back' && specs.some(({ kind }) => kind.type === 'concurrency')) return;
    const namespace = `${suite.namespace}:${run++}`;
    const script = new FakeTimeScript(suite.client, `${namespace}:ends`);
    script.nowMs = START;
    const both = new History(specs, script, (index) => `${namespace}:${index}`, way);
    try {
      for (const operation of history) await both.play(operation);
    } finally {
      const keys = await keysOf(suite.client, namespace);
      const ends = await script.ends();
      if (keys.length > 0) await suite.client.del(...keys);
      // each has an expiry
      expect(keys.filter((key) => !key.endsWith(':ends') && !(key in ends))).toEqual([]);
    }
  }

  it(`give the same answers to the same ${HISTORIES} histories`, async () => {
    const specs = fc.array(counters, { minLength: 1, maxLength: 3 });
    const ways = fc.constantFrom<Way[]>('refunds', 'clock set back');
    const histories = fc.array(operations, { minLength: 1, maxLength: 40, size: 'max' });
    await fc.assert(fc.asyncProperty(specs, histories, ways, playBoth), {
      numRuns: HISTORIES,
      ...(process.env['SEED'] ? { seed: Number(process.env['SEED']) } : {}),
    });
  }, 600_000);

  it('give the same answers for buckets of large numbers', async () => {
    const bucket = fc.record({
      kind: fc
        .constantFrom(2 ** 33, 10_000_000_019)
        .map((burst): CounterKind => ({ type: 'token-bucket', burst })),
      windowMs: fc.constantFrom(86_400_001, 2_592_000_000, 31_536_000_001, 2 ** 44),
      limit: fc.constantFrom(1_000_003, 10_000_019, 2 ** 33 - 1),
      block: fc.constant(undefined),
    });
    const history = fc.array(
      fc.record({
        cost: fc.integer({ min: 0, max: 2 ** 33 }),
        ms: fc.nat(3_000_000_000),
        mustRead: fc.boolean(),
      }),
      { minLength: 1, maxLength: 12, size: 'max' },
    );
    const steps = history.map((ones) =>
      ones.flatMap(({ cost, ms, mustRead }): Operation[] => {
        const use = { at: 0, limit: 0, cost, countDenied: false, shadow: false };
        return [
          { type: 'call', requests: [{ type: 'consume', uses: [use] }], mustRead },
          { type: 'advance', ms },
        ];
      }),
    );
    await fc.assert(
      fc.asyncProperty(bucket, steps, (spec, operationsOfOne) =>
        playBoth([spec], operationsOfOne, 'refunds'),
      ),
      { numRuns: HISTORIES / 2 },
    );
  }, 600_000);

  it('counts on in a sliding window when all that it ever counted exceeds 2^53', async () => {
    const key = `${suite.namespace}:0`;
    const script = new FakeTimeScript(suite.client, `${suite.namespace}:ends`);
    const charge = async (afterMs: number, cost: number): Promise<Answer> => {
      script.nowMs += afterMs;
      const kind = { type: 'sliding-window' } as const;
      const check = { key, kind, windowMs: 1_600, limit: Infinity, cost, countDenied: false, shadow: false };
      return (await script.call([{ type: 'consume', checks: [{ ...check, block: undefined }] }]))[0]!;
    };
    const half = 2 ** 52;
    for (const [afterMs, cost, used] of [
      [0, half, half],
      [1_600, 1, half + 1],
      // the first charge counts no more
      [100, 2, 3],
      [0, half, half + 3],
      [0, 4, half + 7],
      [1_600, half - 8, MAX - 1],
      [100, 8, half],
    ] as const)
      expect(await charge(afterMs, cost)).toMatchObject([{ used }]);
    await suite.client.del(key, `${suite.namespace}:ends`);
  });
});
