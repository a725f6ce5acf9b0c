// Sends requests over 64 connections for some seconds: by wrk where it is on the PATH, else by autocannon.
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const CONNECTIONS = 64;
const CLIENTS = 1000;
const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

export const tool = spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error ? 'autocannon' : 'wrk';

/**
 * @returns {Promise<{ requests: number, seconds: number, p50: number, p99: number, denied: number,
 * broken: number }>} latencies in ms; `denied` are all responses but 2xx, `broken` are requests without a response
 */
export function load(port, seconds) {
  const url = `http://127.0.0.1:${port}/`;
  return tool === 'wrk' ? byWrk(url, seconds) : byAutocannon(url, seconds);
}

function byWrk(url, seconds) {
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', SCRIPT, url, '--', String(CLIENTS)];
  return new Promise((resolve, reject) => {
    const wrk = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    wrk.stdout.on('data', (chunk) => (text += chunk));
    wrk.on('error', reject);
    wrk.on('close', () => {
      const line = /^RESULT (.*)$/m.exec(text)?.[1];
      if (line === undefined) reject(new Error(`wrk said: ${text}`));
      else resolve(JSON.parse(line));
    });
  });
}

async function byAutocannon(url, seconds) {
  const { default: autocannon } = await import('autocannon');
  const requests = Array.from({ length: CLIENTS }, (_, i) => ({ headers: { 'x-client': `c${i}` } }));
  const {
    latency,
    duration,
    non2xx,
    errors,
    '2xx': passed,
  } = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: seconds,
    requests,
  });
  return {
    requests: passed + non2xx,
    seconds: duration,
    p50: latency.p50,
    p99: latency.p99,
    denied: non2xx,
    broken: errors,
  };
}
