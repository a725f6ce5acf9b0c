// A thread that says when a request is due. Timers of Node have steps of 1 ms: at 4000 requests/s they would send in
// bursts of four, which flatters a limiter that collects the requests of a turn. A loop that spins until the next time
// takes a whole core from the application and from Redis. Atomics.wait sleeps for fractions of a millisecond.
import { parentPort } from 'node:worker_threads';

// Atomics.wait usually wakes this much too late
const OVERSLEEP_MS = 0.06;

const cell = new Int32Array(new SharedArrayBuffer(4));
const now = () => Number(process.hrtime.bigint()) / 1e6;

parentPort.on('message', ({ startMs, dueMs }) => {
  for (let next = 0; next < dueMs.length;) {
    sleepUntil(startMs + dueMs[next]);
    const nowMs = now() - startMs;
    while (next < dueMs.length && dueMs[next] <= nowMs) next++;
    parentPort.postMessage(next);
  }
});

function sleepUntil(atMs) {
  const waitMs = atMs - now() - OVERSLEEP_MS;
  if (waitMs > 0) Atomics.wait(cell, 0, 0, waitMs);
  while (now() < atMs);
}
