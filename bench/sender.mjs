// The process that sends, see open-loop.mjs: takes a load by message, answers by its result.
import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { random } from './random.mjs';
import { percentile } from './stats.mjs';

const CONNECTIONS = 64;
const CLIENTS = 1000;
const PATIENCE_MS = 10_000;
// before the first request: the clock gets its times
const LEAD_MS = 5;
const HEADER_END = Buffer.from('\r\n\r\n');
const REQUESTS = Array.from({ length: CLIENTS }, (_, i) =>
  Buffer.from(`GET / HTTP/1.1\r\nHost: bench\r\nX-Client: c${i}\r\n\r\n`),
);

const clock = new Worker(new URL('clock.mjs', import.meta.url));
const pools = new Map();
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** One keep-alive connection with at most one request on its way. */
class Connection {
  static async open(port) {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    await once(socket, 'connect');
    return new Connection(socket);
  }

  constructor(socket) {
    this.socket = socket;
    this.dueMs = 0;
    this.received = undefined;
    this.onResponse = undefined;
    socket.on('data', (chunk) => {
      const data = this.received === undefined ? chunk : Buffer.concat([this.received, chunk]);
      this.received = isComplete(data) ? undefined : data;
      if (this.received === undefined) this.onResponse(this, data.toString('latin1', 9, 12));
    });
  }

  send(index, dueMs) {
    this.dueMs = dueMs;
    this.socket.write(REQUESTS[index % CLIENTS]);
  }
}

function isComplete(data) {
  const end = data.indexOf(HEADER_END);
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(data.toString('latin1', 0, end))?.[1];
  return data.length >= end + HEADER_END.length + Number(length);
}

/** The connections to a port; they stay open from turn to turn. */
async function poolOf(port) {
  let pool = pools.get(port);
  if (pool === undefined) {
    pool = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(port)));
    pools.set(port, pool);
  }
  return pool;
}

/** Each request at its time, whether or not those before it have their response. */
async function atRate({ port, perSecond, seconds, seed }) {
  const startMs = nowMs() + LEAD_MS;
  const dueMs = arrivals(Math.round(perSecond * seconds), perSecond, seed);
  const { latencies, late, denied } = await sendWhenDue(await poolOf(port), startMs, dueMs, seconds);
  return {
    requests: dueMs.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    denied,
    lateMs: percentile(late, 0.99),
  };
}

/** @returns latencies in ms; how many ms after its time the sender got to each request; how many got another status than 200 */
async function sendWhenDue(connections, startMs, dueMs, seconds) {
  const idle = [...connections];
  const waiting = [];
  const measured = { latencies: [], late: [], denied: 0 };
  const send = (connection, index) => connection.send(index, startMs + dueMs[index]);
  await new Promise((resolve, reject) => {
    const timer = setTimeout(reject, 1000 * seconds + PATIENCE_MS, new Error('no answer'));
    const onResponse = (connection, status) => {
      measured.latencies.push(nowMs() - connection.dueMs);
      if (status !== '200') measured.denied++;
      if (waiting.length > 0) send(connection, waiting.shift());
      else idle.push(connection);
      if (measured.latencies.length < dueMs.length) return;
      clearTimeout(timer);
      resolve();
    };
    for (const connection of idle) connection.onResponse = onResponse;
    onDue(startMs, dueMs, (index) => {
      measured.late.push(nowMs() - startMs - dueMs[index]);
      const connection = idle.shift();
      if (connection === undefined) waiting.push(index);
      else send(connection, index);
    });
  });
  return measured;
}

/** Calls back with the index of each request when it is due. */
function onDue(startMs, dueMs, callback) {
  let called = 0;
  clock.removeAllListeners('message').on('message', (due) => {
    for (; called < due; called++) callback(called);
  });
  clock.postMessage({ startMs, dueMs });
}

/** Sends requests as fast as they are answered, one on each connection. */
async function atOnce({ port, requests }) {
  const pool = await poolOf(port);
  const startMs = nowMs();
  let sent = 0;
  let answered = 0;
  await new Promise((resolve) => {
    const next = (connection) => {
      if (sent < requests) connection.send(sent++, 0);
    };
    for (const connection of pool) {
      connection.onResponse = () => {
        next(connection);
        if (++answered === requests) resolve();
      };
      next(connection);
    }
  });
  return { perSecond: (1000 * requests) / (nowMs() - startMs) };
}

/** When each request is due, in ms from the start: a Poisson process, as of independent clients. */
function arrivals(total, perSecond, seed) {
  const randomNumber = random(seed);
  let atMs = 0;
  return Float64Array.from(
    { length: total },
    () => (atMs += (-Math.log(1 - randomNumber()) * 1000) / perSecond),
  );
}

process.on('message', (load) => {
  (load.requests === undefined ? atRate(load) : atOnce(load)).then(
    (result) => process.send(result),
    (error) => process.send({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
