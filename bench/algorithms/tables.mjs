// The tables of docs/algorithms.md that come from run.json.
import { number, table } from '../markdown.mjs';
import { worst } from './figures.mjs';
import { TRAFFIC } from './traffic.mjs';

const KINDS = {
  'fixed-window': 'fixed window',
  'sliding-window': 'sliding window',
  'token-bucket': 'token bucket',
  'small-bucket': 'token bucket, `burst: 5`',
  calendar: 'calendar window',
};

const MEMORY = {
  'fixed-window': 'fixed window',
  'sliding-window': 'sliding window',
  'token-bucket': 'token bucket',
  calendar: 'calendar window',
  blocked: 'a blocked client',
  'blocked, with a list': 'a blocked client, with a list of lengths',
};

const ATTACK = {
  'two counters': 'the two-counter estimate',
  'token-bucket': 'token bucket, `burst: 100`, the default',
  'token-bucket, burst 20': 'token bucket, `burst: 20`',
  'sliding-window': 'sliding window',
};

/** By name of the block, a function from run.json to Markdown. */
export const tables = { traffic, attack, memory };

function traffic({ clients, windowMs }) {
  const of = (kind, name) => clients.find((client) => client.kind === kind && client.traffic === name);
  const kinds = Object.keys(KINDS);
  const passed = Object.entries(TRAFFIC).map(([name, { label, times }]) => [
    `${label}: passed of ${times.length}`,
    ...kinds.map((kind) => of(kind, name).passed.length),
  ]);
  const most = kinds.map((kind) =>
    Math.max(...Object.keys(TRAFFIC).map((name) => worst(of(kind, name).passed, windowMs).count)),
  );
  const last = `most in ${windowMs / 1_000} s`;
  return table(
    ['', ...Object.values(KINDS)],
    [...passed, [last, ...most]].map((row) => row.map(String)),
  );
}

function attack({ attack: most }) {
  return table(
    ['', "most in one window's length"],
    Object.entries(ATTACK).map(([name, label]) => [label, number(most[name], 0)]),
  );
}

function memory({ memory: { keyLength, bytes } }) {
  return table(
    ['', `bytes in Redis, with a key of ${keyLength} characters`],
    Object.entries(MEMORY).map(([kind, label]) => [label, number(Math.round(bytes[kind] / 10) * 10, 0)]),
  );
}
