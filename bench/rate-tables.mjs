// The tables about a fixed rate of requests.
import { BARE, labelOf, number, PLATFORMS, plusMinus, rateOf, table, withInterval } from './words.mjs';

const BEFORE = 'before ';

const rowOf = (measured, name) => measured?.rows.find((row) => row.name === name);
const platformsOf = ({ rate = {} }) => Object.keys(PLATFORMS).filter((platform) => rate[platform]);

/** Milliseconds as microseconds; absent ends stay absent. */
const inUs = (ms) =>
  Object.fromEntries(Object.entries(ms).map(([end, value]) => [end, value && 1000 * value]));

/** What each variant adds to a request of a platform. */
function added(measured) {
  if (measured === undefined) return undefined;
  const rows = measured.rows.filter(({ name }) => name !== BARE && !name.startsWith(BEFORE));
  return table(
    ['', 'CPU, µs', 'p50, µs', 'p99, µs', 'Redis CPU, µs', 'Redis calls', 'garbage, kB', 'at requests/s'],
    rows.map((row) => [
      labelOf(row.name),
      ...[row.cpuUs, inUs(row.p50Ms), inUs(row.p99Ms)].map((one) => withInterval(one)),
      row.calls > 0 ? number(row.redisUs) : undefined,
      row.calls > 0 ? number(row.calls, 2) : undefined,
      row.garbageKb && number(row.garbageKb - rowOf(measured, BARE).garbageKb, 1),
      number(row.perSecond ?? measured.perSecond, 0),
    ]),
  );
}

/** The short table of the README. */
function summary(results) {
  const platforms = platformsOf(results);
  if (platforms.length === 0) return undefined;
  const cell = (name, show) => {
    const rows = platforms.map((platform) => rowOf(results.rate[platform], name));
    return rows.some(Boolean) ? rows.map((row) => (row ? show(row) : '–')).join(' / ') : '–';
  };
  const libraries = (end, show) =>
    ['ours', end.endsWith('memory') ? 'throttler' : 'throttler + nest-lab', 'rate-limiter-flexible'].map(
      (library) => cell(`${library} ${end}`, show),
    );
  const cpu = (row) => plusMinus(row.cpuUs);
  const redis = (row) => number(row.redisUs);
  return table(
    [
      `µs per request, ${titlesOf(platforms)}`,
      'nestjs-freq-limit',
      '@nestjs/throttler with nest-lab',
      'rate-limiter-flexible',
    ],
    [
      ['CPU, 5 limits in memory', ...libraries('5 memory', cpu)],
      ['CPU, 1 limit in Redis', ...libraries('1 redis', cpu)],
      ['CPU, 5 limits in Redis', ...libraries('5 redis', cpu)],
      ['CPU of Redis, 5 limits', ...libraries('5 redis', redis)],
    ],
  );
}

const titlesOf = (platforms) => platforms.map((platform) => PLATFORMS[platform]).join(' / ');

/** An earlier build of this library, measured together with this one. */
function beforeAndAfter(results) {
  const platforms = platformsOf(results).filter((platform) =>
    results.rate[platform].rows.some(({ name }) => name.startsWith(BEFORE)),
  );
  if (platforms.length === 0) return undefined;
  const cell = (platform, name) => {
    const row = rowOf(results.rate[platform], name);
    return row && withInterval(row.cpuUs);
  };
  return table(
    ['CPU added, µs', ...platforms.flatMap((one) => [`${PLATFORMS[one]}, before`, `${PLATFORMS[one]}, now`])],
    Object.entries({
      '1 memory': 'memory, 1 limit',
      '5 memory': 'memory, 5 limits',
      '1 redis': 'Redis, 1 limit',
      '5 redis': 'Redis, 5 limits',
    }).map(([end, label]) => [
      label,
      ...platforms.flatMap((one) => [cell(one, BEFORE + end), cell(one, `ours ${end}`)]),
    ]),
  );
}

/** The machine, the versions and the size of the run. */
function conditions(results) {
  const platforms = platformsOf(results);
  if (platforms.length === 0) return undefined;
  const { versions, machine, date, rate } = results;
  const each = (show) => platforms.map((platform) => show(rate[platform])).join(' / ');
  const named = (...names) => names.map((name) => versions[name]).join(', ');
  return table(
    ['', titlesOf(platforms)],
    [
      ['requests per second', each(rateOf)],
      ['blocks', each(({ blocks }) => blocks)],
      ['turns of each variant in a block', each(({ rounds, seconds }) => `${rounds} of ${seconds} s`)],
      ['seed', each(({ seed }) => seed ?? '–')],
      ['processor', machine && `${machine.processor}, ${machine.cores} cores`],
      ['Node.js', versions.node.slice(1)],
      ['NestJS, ioredis, Redis', named('@nestjs/core', 'ioredis', 'redis')],
      [
        '@nestjs/throttler, @nest-lab/throttler-storage-redis',
        named('@nestjs/throttler', '@nest-lab/throttler-storage-redis'),
      ],
      ['rate-limiter-flexible', versions['rate-limiter-flexible']],
      ['date', date],
    ].filter(([, value]) => value !== undefined),
  );
}

export const tables = {
  'rate fastify': ({ rate }) => added(rate?.fastify),
  'rate express': ({ rate }) => added(rate?.express),
  summary,
  'before and after': beforeAndAfter,
  conditions,
};
