import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/cluster.js';
import { uniqueNamespace } from '../support/redis.js';
import { type Books, isUnderWay, keepBooks } from './books.js';
import { calm, SLACK_MS } from './harness.js';
import { type Load, type LoadEnd, MOST_IN_FLIGHT, RecordingLog, startLoad, storeFor } from './load.js';
import { TIMEOUT_MS } from './options.js';
import { LoneServer } from './scene.js';

const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 15);
const SEED = Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 1e9));

/** From 0 to 1, the same in the same order for the same seed. */
type Chance = () => number;

interface Trouble {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

// one at a time, each over when it resolves
const TROUBLES: Readonly<Record<string, (scene: LoneServer, chance: Chance) => Promise<unknown>>> = {
  hang: async (scene, chance) => {
    scene.signal('SIGSTOP');
    await sleep(30 + chance() * 900);
    scene.signal('SIGCONT');
  },
  reset: async ({ proxy }) => proxy.reset(),
  loseReply: async ({ proxy, wire }) => {
    const { endings } = wire;
    proxy.loseNextReply();
    // while the store is not asked there is none
    await until(() => wire.endings > endings);
  },
  delay: async ({ wire }, chance) => {
    const delayMs = 10 + chance() * 500;
    wire.delayMs = delayMs;
    await sleep(100 + chance() * 700);
    wire.delayMs = 0;
    await sleep(delayMs);
  },
  forget: (scene) => scene.command('SCRIPT', 'FLUSH'),
  drop: async ({ wire }, chance) => {
    wire.hold();
    await sleep(30 + chance() * 900);
    wire.release();
  },
};

interface Soaked {
  readonly books: Books;
  readonly troubles: readonly Trouble[];
  readonly visits: Load['visits'];
  readonly stallMs: number;
  readonly log: RecordingLog;
}

describe('a store in one trouble after the other', () => {
  it(
    'answers every visit in time, charges none twice and loses none',
    async () => {
      const scene = await LoneServer.start();
      try {
        expectSound(await soak(scene, chanceOf(SEED)));
      } finally {
        await scene.stop();
      }
    },
    SECONDS * 2_000 + 60_000,
  );
});

async function soak(scene: LoneServer, chance: Chance): Promise<Soaked> {
  process.stdout.write(`soak: ${SECONDS} s, SOAK_SEED=${SEED}\n`);
  const namespace = uniqueNamespace();
  const log = new RecordingLog();
  const store = await storeFor(scene.redis, namespace, log);
  await store.open();
  const load = startLoad(store, namespace);
  const troubles: Trouble[] = [];
  const untilMs = performance.now() + SECONDS * 1_000;
  while (performance.now() < untilMs) {
    await sleep(chance() * 800);
    troubles.push(await trouble(scene, chance));
  }
  await calm(load);
  const { stallMs }: LoadEnd = await load.stop();
  await store.close();
  const books = await keepBooks(load.visits, scene.port, namespace);
  return { books, troubles, visits: load.visits, stallMs, log };
}

async function trouble(scene: LoneServer, chance: Chance): Promise<Trouble> {
  const names = Object.keys(TROUBLES);
  const name = names[Math.floor(chance() * names.length)]!;
  const fromMs = performance.now();
  await TROUBLES[name]!(scene, chance);
  return { name, fromMs, toMs: performance.now() };
}

function expectSound({ books, troubles, visits, stallMs, log }: Soaked): void {
  const { late, longestMs, unsound, visits: count, refused, ...faults } = books;
  expect(count).toBeGreaterThan(SECONDS * 500);
  expect(refused).toBeLessThan(count);
  // the longest time in which this process did not run at all is not the store's
  expect(longestMs).toBeLessThanOrEqual(TIMEOUT_MS + SLACK_MS + stallMs);
  expect(unsound).toEqual([]);
  expect(faults).toEqual({ unanswered: 0, astray: 0, doubled: 0, lost: 0, overLimit: 0, unbalanced: 0 });
  expect(late.filter((visit) => !wasInTrouble(visit, troubles))).toHaveLength(0);
  expect(late.length).toBeLessThanOrEqual(2 * MOST_IN_FLIGHT * troubles.length);
  expect(visits.at(-1)?.answer?.by).toBe('store');
  const opened = log.lines.filter((line) => line.startsWith('Redis is not asked any more'));
  const closed = log.lines.filter((line) => line.startsWith('Redis answers again'));
  expect(closed).toHaveLength(opened.length);
}

function wasInTrouble(visit: Parameters<typeof isUnderWay>[0], troubles: readonly Trouble[]): boolean {
  return troubles.some(({ fromMs, toMs }) => isUnderWay(visit, fromMs, toMs + TIMEOUT_MS));
}

/** The generator mulberry32. */
function chanceOf(seed: number): Chance {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
