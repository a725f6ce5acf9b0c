// What passes if a client sends as much as it can, counted in memory with a clock of its own: the same in every run.
import { worst } from './figures.mjs';

const WINDOW_MS = 60_000;
const LIMIT = 100;
const START_MS = 1_000 * WINDOW_MS;

/**
 * The most that passes in one window's length, if a client sends the whole limit at the end of a window, and then floods the
 * next one.
 * @param makeStore makes a store in memory with a clock
 */
export function edgeAttack(makeStore) {
  const counters = {
    'two counters': () => twoCounters(),
    'sliding-window': (now) => passes(makeStore(now), { type: 'sliding-window' }),
    'token-bucket': (now) => passes(makeStore(now), { type: 'token-bucket', burst: LIMIT }),
    'token-bucket, burst 20': (now) => passes(makeStore(now), { type: 'token-bucket', burst: 20 }),
  };
  return Object.fromEntries(
    Object.entries(counters).map(([name, counter]) => [name, worstOf(counter, edgeTimes())]),
  );
}

/** The share of the limit that passes in a sliding window under a long flood of ten times the limit. */
export function floodShare(makeStore) {
  let nowMs = START_MS;
  const pass = passes(
    makeStore(() => nowMs),
    { type: 'sliding-window' },
  );
  const perWindow = 10 * LIMIT;
  // the first requests find an empty counter; a cycle of the flood is 17/16 windows
  const [first, windows] = [17, 34];
  let passed = 0;
  for (let i = 0; i < (first + windows) * perWindow; i++) {
    nowMs = START_MS + Math.floor((i * WINDOW_MS) / perWindow);
    if (pass() && i >= first * perWindow) passed++;
  }
  return passed / (windows * LIMIT);
}

/** The estimate of many products: the count of this window, and the part of the last one that is not over yet. */
function twoCounters() {
  let [window, current, last] = [0, 0, 0];
  return (nowMs) => {
    const index = Math.floor(nowMs / WINDOW_MS);
    if (index !== window) [window, last, current] = [index, index === window + 1 ? current : 0, 0];
    const estimate = current + last * (1 - (nowMs % WINDOW_MS) / WINDOW_MS);
    if (estimate + 1 > LIMIT) return false;
    current++;
    return true;
  };
}

function worstOf(counter, times) {
  let nowMs = 0;
  const pass = counter(() => nowMs);
  const passed = times.filter((ms) => {
    nowMs = ms;
    return pass(ms);
  });
  return worst(passed, WINDOW_MS).count;
}

/** The whole limit in the last millisecond of a window, then a request in each millisecond. */
function edgeTimes() {
  const lastMs = START_MS + WINDOW_MS - 1;
  const flood = Array.from({ length: 2 * WINDOW_MS }, (_, i) => lastMs + 1 + i);
  return [...Array.from({ length: LIMIT }, () => lastMs), ...flood];
}

function passes(store, kind) {
  const rest = { windowMs: WINDOW_MS, cost: 1, countDenied: false, shadow: false, onStoreError: 'deny' };
  const check = { key: 'client', group: '', text: 'client', name: 'client', kind, limit: LIMIT, ...rest };
  return () => store.consume([check])[0].allowed;
}
