// Runs the traffic of traffic.mjs on a real server, with all kinds of counters at the same time.
import { Log } from '../../dist/esm/core/log.js';
import { createStore } from '../../dist/esm/store/create-store.js';
import { KINDS, LIMIT, TRAFFIC, WINDOW_MS, WINDOWS } from './traffic.mjs';

/** A longer wait would make the times wrong. */
const MAX_WAIT_MS = 20;

/** @returns for each kind and traffic the times of the requests, in milliseconds since the start */
export async function run(port) {
  const store = await openStore(port);
  const clients = Object.keys(KINDS).flatMap((kind) =>
    Object.keys(TRAFFIC).map((traffic) => clientOf(kind, traffic)),
  );
  const requests = clients
    .flatMap((client) => TRAFFIC[client.traffic].times.map((at) => ({ client, atMs: at * WINDOW_MS })))
    .sort((a, b) => a.atMs - b.atMs);
  // also connects, and loads the code
  await Promise.all(clients.map((client) => store.consume([{ ...checkOf(client, Date.now()), cost: 0 }])));

  const startMs = Math.ceil(Date.now() / WINDOW_MS + 0.1) * WINDOW_MS;
  const pending = [];
  for (const { client, atMs } of requests) {
    await waitUntil(startMs + atMs);
    pending.push(send(store, client, startMs));
  }
  await Promise.all(pending);
  await store.close();
  return clients;
}

function clientOf(kind, traffic) {
  // the periods of the calendar are known, and those of fixed windows are found
  const windows =
    kind === 'calendar' ? Array.from({ length: Math.ceil(WINDOWS) }, (_, i) => i * WINDOW_MS) : [];
  return { kind, traffic, passed: [], denied: [], windows, blocks: [] };
}

export async function openStore(port) {
  const options = { redis: `redis://127.0.0.1:${port}`, namespace: 'fl', timeoutMs: 1_000 };
  const layers = { coalesce: true, denyCache: true, maxCounters: 1_000, fallbackShare: 1 };
  const store = await createStore({ ...options, ...layers }, new Log(console));
  await store.open();
  return store;
}

/** As a rule by user would have it. */
export function checkOf({ kind, traffic }, nowMs) {
  const group = `fl:search~0123456789:${kind}:`;
  const rest = { cost: 1, limit: LIMIT, windowMs: WINDOW_MS, countDenied: false, shadow: false };
  const text = `client-${traffic}`;
  return { key: group + text, group, text, name: kind, ...rest, onStoreError: 'deny', ...KINDS[kind](nowMs) };
}

async function send(store, client, startMs) {
  const sentMs = Date.now();
  const [result] = await store.consume([checkOf(client, sentMs)]);
  const atMs = sentMs - startMs;
  const waitMs = Date.now() - sentMs;
  if (waitMs > MAX_WAIT_MS)
    throw new Error(`a request took ${waitMs} ms; run it on a machine that is less busy`);
  if (result.allowed) client.passed.push(atMs);
  else client.denied.push(atMs);
  if (client.kind === 'fixed-window' && result.used === 1) client.windows.push(atMs);
  const last = client.blocks.at(-1);
  if (result.blocked && !(last?.[1] > atMs)) client.blocks.push([atMs, atMs + result.retryAfterMs]);
}

/** Timers end up to a millisecond early. */
async function waitUntil(timeMs) {
  for (;;) {
    const leftMs = timeMs - Date.now();
    if (leftMs <= 0) return;
    await new Promise((resolve) => setTimeout(resolve, leftMs));
  }
}
