// Many connections that post large bodies for one phone, in its own process. Sends the statuses of each policy.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { endWithParent } from '../support/typescript-process.js';
import { type Answers, POLICIES } from './flood.js';

/** Small members take longest to parse. */
const MEMBER_BYTES = 12;
/** The wait for requests in flight at the end: large bodies of many connections are a long queue. */
const PATIENCE_MS = 8_000;

endWithParent();
const [ports = '', connections, bytes, forMs] = process.argv.slice(2);
const body = bodyOf(Number(bytes));
const answers: Answers = { memory: {}, allow: {}, deny: {} };
const endsAtMs = performance.now() + Number(forMs);
const targets = ports.split(',').map(Number);
const all = Array.from({ length: Number(connections) }, (_, i) =>
  post(targets[Math.floor(i / POLICIES.length) % targets.length]!, POLICIES[i % POLICIES.length]!),
);
await Promise.race([Promise.all(all), sleep(Number(forMs) + PATIENCE_MS)]);
process.send?.(answers);

function bodyOf(size: number): string {
  const members = Array.from({ length: size / MEMBER_BYTES }, (_, i) => `"k${String(i).padStart(5, '0')}":1`);
  return `{"phone":"13800000000","more":{${members.join(',')}}}`;
}

/** Posts over one connection until the time is over. */
function post(port: number, policy: (typeof POLICIES)[number]): Promise<void> {
  const head = [
    `POST /code/${policy} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let text = '';
    const note = (outcome: string): void => {
      answers[policy][outcome] = (answers[policy][outcome] ?? 0) + 1;
    };
    socket.on('data', (chunk) => {
      text += chunk.toString();
      const status = statusOfWhole(text);
      if (status === undefined) return;
      note(status);
      text = '';
      if (performance.now() < endsAtMs) socket.write(request);
      else socket.end();
    });
    socket.on('error', () => note('broken'));
    socket.on('close', () => resolve());
  });
}

/** The status of a complete response. */
function statusOfWhole(text: string): string | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return text.length >= headEnd + 4 + length ? text.slice(9, 12) : undefined;
}
