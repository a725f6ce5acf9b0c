// Sends requests at a fixed rate, in a process of its own. The loop is open: a slow response delays no later request, and
// the time that a request waits for a free connection is part of its latency.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { percentile } from './stats.mjs';

const CONNECTIONS = 64;
const CLIENTS = 1000;
const HEADER_END = Buffer.from('\r\n\r\n');

/** The process that sends. */
export class OpenLoop {
  static start() {
    return new OpenLoop(fork(fileURLToPath(import.meta.url), ['child']));
  }

  constructor(child) {
    this.child = child;
  }

  /**
   * @param {{ port: number, perSecond: number, seconds: number }} load
   * @returns {Promise<{ requests: number, p50: number, p99: number, denied: number, lateMs: number }>} latencies in ms, and
   * how late the sender itself was at most
   */
  async run(load) {
    const answered = once(this.child, 'message');
    this.child.send(load);
    const [{ error, ...result }] = await answered;
    if (error !== undefined) throw new Error(error);
    return result;
  }

  stop() {
    this.child.disconnect();
  }
}

/** One keep-alive connection with at most one request on its way. */
class Connection {
  static async open(port, onResponse) {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    await once(socket, 'connect');
    return new Connection(socket, onResponse);
  }

  constructor(socket, onResponse) {
    this.socket = socket;
    this.dueMs = 0;
    this.received = undefined;
    socket.on('data', (chunk) => {
      const data = this.received === undefined ? chunk : Buffer.concat([this.received, chunk]);
      this.received = isComplete(data) ? undefined : data;
      if (this.received === undefined) onResponse(this, data.toString('latin1', 9, 12));
    });
  }

  send(request, dueMs) {
    this.dueMs = dueMs;
    this.socket.write(request);
  }
}

function isComplete(data) {
  const end = data.indexOf(HEADER_END);
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(data.toString('latin1', 0, end))?.[1];
  return data.length >= end + HEADER_END.length + Number(length);
}

async function send({ port, perSecond, seconds }) {
  const requests = Array.from({ length: CLIENTS }, (_, i) =>
    Buffer.from(`GET / HTTP/1.1\r\nHost: bench\r\nX-Client: c${i}\r\n\r\n`),
  );
  const total = Math.round(perSecond * seconds);
  const dueMs = arrivals(total, perSecond);
  const latencies = [];
  const idle = [];
  const waiting = [];
  let denied = 0;
  let lateMs = 0;
  const take = (connection, index) => connection.send(requests[index % CLIENTS], startMs + dueMs[index]);
  const onResponse = (connection, status) => {
    latencies.push(performance.now() - connection.dueMs);
    if (status !== '200') denied++;
    if (waiting.length > 0) take(connection, waiting.shift());
    else idle.push(connection);
  };
  for (let i = 0; i < CONNECTIONS; i++) idle.push(await Connection.open(port, onResponse));
  const connections = [...idle];
  const startMs = performance.now();
  for (let next = 0; latencies.length < total;) {
    const nowMs = performance.now() - startMs;
    for (; next < total && dueMs[next] <= nowMs; next++) {
      lateMs = Math.max(lateMs, nowMs - dueMs[next]);
      const connection = idle.shift();
      if (connection === undefined) waiting.push(next);
      else take(connection, next);
    }
    if (nowMs > 1000 * (seconds + 10)) throw new Error('the application does not answer');
    await nextTurn();
  }
  for (const { socket } of connections) socket.destroy();
  return {
    requests: total,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    denied,
    lateMs,
  };
}

/** Independent clients: a Poisson process, the same for each run. */
function arrivals(total, perSecond) {
  let state = 42;
  let atMs = 0;
  return Float64Array.from({ length: total }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    atMs += (-Math.log(1 - state / 2 ** 32) * 1000) / perSecond;
    return atMs;
  });
}

if (process.argv[2] === 'child') {
  process.on('message', (load) => {
    send(load).then(
      (result) => process.send(result),
      (error) => process.send({ error: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit());
}
