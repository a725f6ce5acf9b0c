import { readFileSync } from 'node:fs';
import { Log } from '../../../src/core/log.js';
import { MemoryStore } from '../../../src/store/memory/memory-store.js';
import { faintColors, faultsOf } from './shapes.js';

const file = (path: string) => new URL(`../../../${path}`, import.meta.url);
const read = (path: string): string => readFileSync(file(path), 'utf8');
const script = (name: string) => import(file(`bench/algorithms/${name}`).href);
const { edgeAttack, floodShare } = await script('attack.mjs');
const { filesOf, PAGE, RUN } = await script('draw.mjs');
const { lastWindow, worst } = await script('figures.mjs');
const { COLORS } = await script('picture.mjs');
const { SMALL_BURST, TRAFFIC } = (await script('traffic.mjs')) as Traffic;

interface Traffic {
  readonly SMALL_BURST: number;
  readonly TRAFFIC: Readonly<Record<string, { readonly times: readonly number[] }>>;
}

interface Client {
  readonly kind: string;
  readonly traffic: string;
  readonly passed: readonly number[];
  readonly denied: readonly number[];
}

const run = JSON.parse(read(RUN)) as {
  readonly clients: readonly Client[];
  readonly limit: number;
  readonly windowMs: number;
  readonly attack: object;
  readonly floodShare: number;
};
const files = filesOf(run) as readonly (readonly [string, string])[];
const pictures = files.filter(([path]) => path.endsWith('.svg'));
const makeStore = (clock: () => number) => new MemoryStore(1_000, new Log(console), clock, 'store', clock);

describe('docs/algorithms.md', () => {
  it.each(files)(
    'shows what run.json says; if this fails: node bench/algorithms/draw.mjs: %s',
    (path, text) => {
      expect(read(path) === text).toBe(true);
    },
  );

  it('shows every picture', () => {
    const shown = [...read(PAGE).matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path]) => `docs/${path}`);
    expect(shown.sort()).toEqual(pictures.map(([path]) => path).sort());
  });

  it('says what passes in a sliding window under a flood', () => {
    expect(floodShare(makeStore)).toBe(run.floodShare);
    expect(read(PAGE)).toContain(`gets ${Math.floor(run.floodShare * 100)} % of the limit`);
  });

  it('says what passes if a client floods the next window', () => {
    expect(edgeAttack(makeStore)).toEqual(run.attack);
  });
});

describe('the run', () => {
  const { limit, windowMs, clients } = run;
  const promises: Record<string, number> = {
    'fixed-window': 2 * limit - 1,
    'sliding-window': limit,
    'token-bucket': 2 * limit,
    'small-bucket': limit + SMALL_BURST,
    calendar: 2 * limit,
    block: limit,
  };

  it.each(clients.map((client) => [client.kind, client.traffic, client] as const))(
    'keeps the promise of its kind: %s, %s',
    (kind, traffic, { passed, denied }) => {
      expect(passed.length + denied.length).toBe(TRAFFIC[traffic]!.times.length);
      expect(worst(passed, windowMs).count).toBeLessThanOrEqual(promises[kind]!);
    },
  );
});

describe('the count of the last window', () => {
  it('includes a request for exactly one length', () => {
    expect(lastWindow([0, 5], 10)).toEqual([
      { ms: 0, count: 1 },
      { ms: 5, count: 2 },
      { ms: 10, count: 1 },
      { ms: 15, count: 0 },
    ]);
    expect(worst([0, 9, 10], 10)).toEqual({ ms: 9, count: 2 });
    expect(worst([], 10).count).toBe(0);
  });
});

describe('the pictures', () => {
  // texts may be on these
  const AREAS = ['window', 'blocked', 'passed', 'denied', 'area', 'curve'];

  it.each(pictures)('have nothing outside their frame and no texts that overlap: %s', (_, svg) => {
    expect(faultsOf(svg, AREAS)).toEqual([]);
  });

  it.each(Object.entries(COLORS as Record<string, Record<string, string>>))(
    'have enough contrast on their %s page',
    (_, colors) => {
      expect(faintColors(colors)).toEqual([]);
    },
  );
});
