import { uniqueNamespace } from '../support/redis.js';
import { type Books, isInFlight, keepBooks } from './books.js';
import { type Chance, chanceOf } from './chance.js';
import { calm, SLACK_MS } from './harness.js';
import { type Load, MOST_IN_FLIGHT, RecordingLog, startLoad, storeFor } from './load.js';
import { TIMEOUT_MS } from './options.js';
import { LoneServer } from './scene.js';
import { type Trouble, troubleFor } from './troubles.js';

const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 15);
const SEED = Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 1e9));

interface Soaked {
  readonly books: Books;
  readonly troubles: readonly Trouble[];
  readonly requests: Load['requests'];
  readonly log: RecordingLog;
}

describe('a store during many faults', () => {
  it(
    'answers every request in time, charges none twice and loses none',
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
  const troubles = await troubleFor(SECONDS, [scene], chance);
  await calm(load);
  await load.stop();
  await store.close();
  const books = await keepBooks(load.requests, scene.port, namespace);
  return { books, troubles, requests: load.requests, log };
}

function expectSound({ books, troubles, requests, log }: Soaked): void {
  const { late, longestForStoreMs, unsound, requests: count, withoutStore } = books;
  const { unanswered, againstPolicy, doubled, lost, overLimit, unbalanced } = books;
  expect(count).toBeGreaterThan(SECONDS * 500);
  expect(withoutStore).toBeLessThan(count);
  expect(longestForStoreMs).toBeLessThanOrEqual(TIMEOUT_MS + SLACK_MS);
  expect(unsound).toEqual([]);
  expect([unanswered, againstPolicy, doubled, lost, overLimit, unbalanced]).toEqual([0, 0, 0, 0, 0, 0]);
  expect(late.filter((request) => !wasInTrouble(request, troubles))).toHaveLength(0);
  expect(late.length).toBeLessThanOrEqual(2 * MOST_IN_FLIGHT * troubles.length);
  expect(requests.at(-1)?.answer?.by).toBe('store');
  const opened = log.lines.filter((line) =>
    /^FREQ_LIMIT_STORE_(UNAVAILABLE|REFUSED): Redis is unavailable/.test(line),
  );
  const closed = log.lines.filter((line) =>
    line.startsWith('FREQ_LIMIT_STORE_RECOVERED: Redis is available again'),
  );
  expect(closed).toHaveLength(opened.length);
}

function wasInTrouble(request: Parameters<typeof isInFlight>[0], troubles: readonly Trouble[]): boolean {
  return troubles.some(({ fromMs, toMs }) => isInFlight(request, fromMs, toMs + TIMEOUT_MS));
}
