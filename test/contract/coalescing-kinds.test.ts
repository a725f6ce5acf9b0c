import fc from 'fast-check';
import type { Check, CheckResult } from '../../src/core/check.js';
import { PendingRequest } from '../../src/store/redis/batch.js';
import { Coalescer } from '../../src/store/redis/coalescer.js';
import { SettleCoalescer } from '../../src/store/redis/settle-coalescer.js';
import { checkOn, type CounterSpec, keyOf, specs, type Use, uses } from '../support/random-checks.js';
import { timedRedis, type TimedRedis } from '../support/timed-subjects.js';

// Requests of all kinds that share a call must get the same answers as in separate calls, to the millisecond, and leave the
// same counters. Requests with nothing but plain fixed windows have calls of their own, so the order is that of the calls.

const HISTORIES = Number(process.env['COALESCING_RUNS'] ?? 1_000) / 2;

interface Wish {
  readonly type: 'consume' | 'peek';
  readonly uses: readonly Use[];
  /** What it really used of each check, settled after its turn; `undefined`: what it was charged. */
  readonly realCost: number | undefined;
  /** Whether its checks have no blocks and other refills than those of other requests on the same counters. */
  readonly isOther: boolean;
}

interface Turn {
  readonly afterMs: number;
  readonly wishes: readonly Wish[];
}

interface Request extends Omit<Wish, 'uses'> {
  readonly checks: readonly Check[];
}

type Answer = readonly CheckResult[] | string;

const turns: fc.Arbitrary<Turn[]> = fc.array(
  fc.record({
    afterMs: fc.constantFrom(0, 1, 6, 62, 99, 1_000, 10_001),
    wishes: fc.array(
      fc.record({
        type: fc.constantFrom('consume' as const, 'consume' as const, 'consume' as const, 'peek' as const),
        uses: fc.array(uses(), { minLength: 1, maxLength: 4 }),
        realCost: fc.constantFrom(undefined, 0, 0, 1, 3, 20),
        isOther: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
      }),
      { minLength: 1, maxLength: 12 },
    ),
  }),
  { minLength: 1, maxLength: 6 },
);

/** The order in which the calls of a turn decide its requests. */
function orderOf(requests: readonly Request[]): Request[] {
  const order: Request[] = [];
  const byPending = new Map<PendingRequest, Request>();
  const coalescer = new Coalescer(
    {
      write: (batches) =>
        order.push(...batches.flatMap((one) => one.requests.map((two) => byPending.get(two)!))),
      close: () => undefined,
    },
    true,
  );
  for (const request of requests) {
    const pending = new PendingRequest(request.checks, request.type === 'consume');
    byPending.set(pending, request);
    coalescer.add('', pending);
  }
  coalescer.close();
  return order;
}

/** The order in which the calls of a turn settle its requests. */
function settleOrderOf(requests: readonly Request[]): Request[] {
  const order: Request[] = [];
  const byCheck = new Map(requests.flatMap((one) => one.checks.map((check) => [check, one] as const)));
  const coalescer = new SettleCoalescer((charges) => {
    for (const { check } of charges) order.push(byCheck.get(check)!);
    return Promise.resolve([]);
  }, true);
  for (const { checks } of requests)
    void coalescer.add(
      '',
      checks.map((check) => ({ check, result: {} as CheckResult, token: 0, cost: 0 })),
    );
  coalescer.flush();
  return [...new Set(order)];
}

function otherwise(check: Check): Check {
  const { kind, limit } = check;
  return { ...check, block: undefined, limit: kind.type === 'token-bucket' ? limit + 1 : limit };
}

async function answer({ store }: TimedRedis, { type, checks }: Request): Promise<Answer> {
  try {
    return await (type === 'peek' ? store.peek(checks) : store.consume(checks, true));
  } catch (error) {
    return (error as Error).message;
  }
}

describe('requests of all kinds in one call', () => {
  let together: TimedRedis;
  let apart: TimedRedis;

  beforeAll(async () => {
    together = await timedRedis();
    apart = await timedRedis(together.clock, false);
  });
  afterAll(() => Promise.all([together.stop(), apart.stop()]));

  const clear = (): Promise<unknown> => Promise.all([together.clear(), apart.clear()]);

  async function play({ afterMs, wishes }: Turn, list: readonly CounterSpec[]): Promise<void> {
    together.clock.nowMs += afterMs;
    const requests = wishes.map(({ uses, ...wish }): Request => {
      const checks = uses.map((use) => checkOn(list, use, together.clock.nowMs));
      return { ...wish, checks: wish.isOther ? checks.map(otherwise) : checks };
    });
    const shared = await Promise.all(requests.map((one) => answer(together, one)));
    const single = new Map<Request, Answer>();
    for (const one of orderOf(requests)) single.set(one, await answer(apart, one));
    requests.forEach((one, i) => expect(shared[i]).toEqual(single.get(one)));
    await settle(requests, new Map(requests.map((one, i) => [one, shared[i]!])), single);
  }

  /** Settles requests in one turn, and one by one. Until the last one of a counter is settled, its results may differ. */
  async function settle(
    requests: readonly Request[],
    shared: ReadonlyMap<Request, Answer>,
    single: ReadonlyMap<Request, Answer>,
  ): Promise<void> {
    const settled = requests.filter(
      (one) => one.realCost !== undefined && Array.isArray(shared.get(one)) && Array.isArray(single.get(one)),
    );
    const settleIn = async (one: Request, { store }: TimedRedis, answers: ReadonlyMap<Request, Answer>) => {
      const costs = one.checks.map(() => one.realCost!);
      await store.settle(one.checks, answers.get(one) as CheckResult[], costs);
    };
    await Promise.all(settled.map((one) => settleIn(one, together, shared)));
    for (const one of settleOrderOf(settled)) await settleIn(one, apart, single);
    for (const one of settled) {
      const [ofShared, ofSingle] = await Promise.all(
        [together, apart].map((subject) => answer(subject, { ...one, type: 'peek' })),
      );
      expect(ofShared).toEqual(ofSingle);
    }
  }

  async function expectSameCounters(list: readonly CounterSpec[]): Promise<void> {
    const keys = list.map((_, index) => keyOf(list, index));
    const [ofTogether, ofApart] = await Promise.all(
      [together, apart].map((one) => Promise.all(keys.map((key) => one.valueOf(key)))),
    );
    expect(ofTogether).toEqual(ofApart);
  }

  const lists = fc.array(specs(), { minLength: 1, maxLength: 4 });

  it(`are decided as if they came one by one, in ${HISTORIES} random histories`, async () => {
    await fc.assert(
      fc.asyncProperty(lists, turns, async (list, history) => {
        await clear();
        for (const turn of history) await play(turn, list);
        await expectSameCounters(list);
        expect(await together.sweep()).toEqual([]);
      }),
      { numRuns: HISTORIES },
    );
  }, 300_000);

  it('do not share errors: a key that is not a counter fails only its own requests', async () => {
    const garbage = fc.constantFrom('list', 'text', 'state of another kind');
    await fc.assert(
      fc.asyncProperty(lists, turns, garbage, async (list, history, kind) => {
        await clear();
        for (const { client, full } of [together, apart]) {
          const key = full(keyOf(list, 0));
          if (kind === 'list') await client.lpush(key, 'x');
          else await client.set(key, kind === 'text' ? 'x' : Buffer.alloc(100));
        }
        for (const turn of history) await play(turn, list);
        await expectSameCounters(list);
      }),
      { numRuns: HISTORIES / 4 },
    );
  }, 300_000);
});
