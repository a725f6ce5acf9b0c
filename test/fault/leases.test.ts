import { mostAtOnce, overrunsOf, leasesOf, wrongReleases } from './leases/held.js';
import { LIMITS } from './leases/options.js';
import type { Report } from './leases/reports.js';
import { type Run, runLeases } from './leases/run.js';

const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 30);
const SEED = Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 1e9));
/** Shorter than in an application, so that more happens in a short run. */
const TIMES = { lifeMs: 2_000, renewEveryMs: 500 };

describe('eight processes that take leases and settle costs, during many faults', () => {
  it(
    'never have more leases than the limit, lose none for longer than its life, and count what was settled',
    async () => {
      process.stdout.write(`leases: ${SECONDS} s, SOAK_SEED=${SEED}\n`);
      const { faults, ...run } = await runLeases({ seconds: SECONDS, seed: SEED, times: TIMES });
      process.stdout.write(`${JSON.stringify({ ...run, costs: { ...run.costs, wrong: undefined } })}\n`);
      expect(faults).toEqual([]);
      expectEnough(run);
    },
    SECONDS * 2_000 + 90_000,
  );
});

/** Otherwise the test proves nothing. */
function expectEnough({ costs, troubles, ...run }: Omit<Run, 'faults'>) {
  expect(run.most).toBe(LIMITS.strict);
  expect(run.leases).toBeGreaterThan(SECONDS * 10);
  expect(costs.settled).toBeGreaterThan(SECONDS * 20);
  const { renewed, aborted, killed, longStops, shortStops } = run;
  const happened = { renewed, aborted, killed, longStops, shortStops, restarts: troubles['restart'] };
  for (const [name, count = 0] of Object.entries(happened)) expect([name, count > 0]).toEqual([name, true]);
}

describe('the check of what processes report', () => {
  const LIFE_MS = 100;
  const take = (lease: string, atMs: number): Report[] => [
    { what: 'take', lease, counter: 'strict:a', atMs },
    { what: 'begin', lease, source: 'store', atMs: atMs + 1 },
  ];
  const end = (lease: string, atMs: number): Report[] => [
    { what: 'end', lease, isAborted: false, atMs },
    { what: 'release', lease, atMs: atMs + 1 },
  ];
  const renewal = (lease: string, call: number, atMs: number, isKept = true): Report[] => [
    { what: 'renew', call, leases: [lease], atMs },
    { what: 'renewed', call, kept: isKept ? [lease] : [], again: isKept ? [] : [lease], atMs: atMs + 1 },
  ];
  const member = (reports: Report[]) => {
    return {
      name: 'p',
      stops: [{ fromMs: 90, toMs: 130 }],
      killedAtMs: undefined,
      closedAtMs: undefined,
      reports,
    };
  };
  const of = (...reports: Report[]) => leasesOf(member(reports), LIFE_MS);

  it('finds leases at the same time', () => {
    const leases = of(...take('a', 0), ...take('b', 10), ...end('a', 20), ...take('c', 21), ...end('b', 30));
    expect(mostAtOnce(leases)).toEqual(new Map([['strict:a', 2]]));
  });

  it('counts a lease without an end until it may lapse', () => {
    expect(mostAtOnce(of(...take('a', 0), ...take('b', 98)))).toEqual(new Map([['strict:a', 2]]));
    expect(mostAtOnce(of(...take('a', 0), ...take('b', 99)))).toEqual(new Map([['strict:a', 1]]));
  });

  it('counts a renewed lease for longer, if the answer surely came before it lapsed', () => {
    const untilOf = (...reports: Report[]) => of(...take('a', 0), ...reports)[0]?.untilMs;
    expect(untilOf(...renewal('a', 1, 60), ...renewal('a', 2, 150))).toBe(250);
    expect(untilOf(...renewal('a', 1, 60), ...renewal('a', 2, 150, false), ...renewal('a', 3, 155))).toBe(
      160,
    );
    expect(untilOf(...renewal('a', 1, 99))).toBe(100);
  });

  it('finds work that goes on after its lease, apart from the time in which the process was stopped', () => {
    const leases = of(...take('a', 0), ...end('a', 150));
    expect(overrunsOf(leases, member([]))).toEqual([20]);
  });

  it('finds leases that are not released, or too early', () => {
    const early: Report = { what: 'release', lease: 'b', atMs: 5 };
    const leases = of(...take('a', 0), ...take('b', 0), early, ...end('b', 10));
    expect(wrongReleases(leases, member([]))).toEqual([
      'a was not released',
      'b was released before the end of its work',
    ]);
    expect(wrongReleases(leases, { killedAtMs: 4, closedAtMs: undefined })).toHaveLength(1);
  });
});
