// The tables about saturated applications and the stores alone.
import { BARE } from './apps/variants.mjs';
import { byOrder, hasLabel, labelOf, labelOfRows, PLATFORMS } from './labels.mjs';
import { number, table, threeDigits, threeDigitsWithInterval } from './markdown.mjs';

/** How many requests applications answer that get as many as they can take. */
function saturated({ http = {} }) {
  const platforms = Object.keys(PLATFORMS).filter((platform) => http[platform]);
  if (platforms.length === 0) return undefined;
  const rows = platforms.flatMap((platform) => http[platform]).filter(({ name }) => isShown(name));
  const bases = new Map(rows.map(({ name, base }) => [name, base]));
  return table(
    ['ratio to the bare application', ...platforms.flatMap(saturatedHead)],
    [...bases]
      .sort(([a], [b]) => byOrder(a, b))
      .map(([name, base]) => {
        const own = platforms.map((platform) => http[platform].find((row) => row.name === name));
        const label = labelOfRows(name, own);
        return [
          base === BARE ? label : `${label}; ratio to ${labelOf(base)}`,
          ...own.flatMap(saturatedCells),
        ];
      }),
  );
}

const isShown = (name) => name !== BARE && hasLabel(name);

const saturatedHead = (platform) => [`${PLATFORMS[platform]}: requests/s`, 'CPU', 'Redis CPU, µs'];

function saturatedCells(row) {
  if (row === undefined) return [undefined, undefined, undefined];
  const redis = row.calls > 0 ? number(row.redisCpuUs) : undefined;
  const { throughput: mean, from, to, appCpu } = row;
  return [threeDigitsWithInterval({ mean, from, to }), threeDigits(appCpu), redis];
}

const STORES = {
  'raw INCR + PTTL': '`INCR` and `PTTL`, written to the socket in a pipeline',
  'raw INCR': '`INCR` alone, in a pipeline',
  'bare evalsha, 128 counters a call': 'calls of 128 counters, made beforehand and sent by ioredis',
  ours: 'nestjs-freq-limit',
  'ours, before': 'nestjs-freq-limit, before',
  'ours, no coalescing': 'nestjs-freq-limit, `coalesce: false`',
  'throttler + nest-lab': '@nest-lab/throttler-storage-redis',
  'rate-limiter-flexible': 'rate-limiter-flexible',
};

/** Cost of a check without HTTP, for counters that no two requests share, and for shared ones. */
function stores({ store = [] }) {
  const sections = [/all keys distinct/, /1 for all/].map((title) =>
    store.find((section) => title.test(section.title)),
  );
  if (sections.includes(undefined)) return undefined;
  return table(
    ['per check', ...['own counters', 'shared counters'].flatMap(storeHead)],
    sections[0].rows.map(({ name }) => [
      STORES[name] ?? name,
      ...sections.flatMap(({ rows }) => storeCells(rows.find((row) => row.name === name))),
    ]),
  );
}

const storeHead = (title) => [`${title}: Redis CPU, ratio`, 'Redis CPU, µs', 'CPU of the process, µs'];

const storeCells = (row) => [
  withEnds(row, 'serverCpu'),
  threeDigits(row?.serverUs),
  withEnds(row, 'clientUs'),
];

/** A mean and its interval. */
function withEnds(row, field) {
  const measured = row?.intervals?.[field];
  return measured === undefined ? threeDigits(row?.[field]) : threeDigitsWithInterval(measured);
}

/** The same for requests with more and more checks. */
function calls({ store = [] }) {
  const rows = store.flatMap(({ title, rows: all }) => {
    const [, checks, inFlight] = /^(\d+) checks a request, (\d+) requests in flight$/.exec(title) ?? [];
    const own = all.find(({ name }) => name === 'ours');
    return checks && own ? [[checks, inFlight, ...storeCells(own)]] : [];
  });
  if (rows.length === 0) return undefined;
  return table(
    [
      'checks per request',
      'requests in flight',
      'Redis CPU, ratio',
      'Redis CPU, µs per check',
      'CPU of the process, µs per check',
    ],
    rows,
  );
}

/** How long the largest calls block Redis. */
function longest({ longestCalls }) {
  return (
    longestCalls &&
    table(
      ['requests in one call', 'median, ms', 'longest, ms'],
      longestCalls.map(({ name, medianMs, maxMs }) => [name, threeDigits(medianMs), threeDigits(maxMs)]),
    )
  );
}

export const tables = { saturated, stores, calls, 'longest calls': longest };
