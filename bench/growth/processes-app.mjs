// One of several processes on one Redis: each byte on its standard input is a request. Each request charges a counter that
// all processes share, and a counter that no other request has.
import { serviceOf } from '../subjects.mjs';
import { ROOMY } from '../apps/decorate.mjs';

const { redisPort, limit } = JSON.parse(process.argv[2]);
const { service } = await serviceOf({ redis: `redis://127.0.0.1:${redisPort}`, timeoutMs: 10_000 });
const answers = [];

process.stdin.on('data', (bytes) => {
  for (let i = 0; i < bytes.length; i++) answers.push(request(answers.length));
});
process.stdin.on('end', async () => {
  const verdicts = await Promise.all(answers);
  const allowed = verdicts.filter((verdict) => verdict.allowed).length;
  const stray = verdicts.filter(({ source }) => source !== 'store').length;
  process.send({ requests: verdicts.length, allowed, stray }, () => process.exit());
});
process.send('ready');

function request(n) {
  return service.consume([
    { name: 'hot', key: 'all', window: 3600, limit },
    { name: 'client', key: `${process.pid}-${n}`, window: 3600, limit: ROOMY },
  ]);
}
