// The tables about a fixed rate of requests.
import { BARE } from './apps/variants.mjs';
import { hasLabel, labelOfRows, PLATFORMS, rateOf } from './labels.mjs';
import { number, plusMinus, table, withInterval } from './markdown.mjs';

const BEFORE = 'before ';

const rowOf = (measured, name) => measured?.rows.find((row) => row.name === name);
const platformsOf = ({ rate = {} }) => Object.keys(PLATFORMS).filter((platform) => rate[platform]);

/** Milliseconds as microseconds; absent ends stay absent. */
const inUs = (ms) =>
  Object.fromEntries(Object.entries(ms).map(([end, value]) => [end, value && 1000 * value]));

/** What each variant adds to a request of a platform. */
function added(measured) {
  if (measured === undefined) return undefined;
  const rows = measured.rows.filter(({ name }) => name !== BARE && hasLabel(name));
  return table(
    ['', 'CPU, µs', 'p50, µs', 'p99, µs', 'Redis CPU, µs', 'Redis calls', 'garbage, kB', 'at requests/s'],
    rows.map((row) => [
      labelOfRows(row.name, [row]),
      ...[row.cpuUs, inUs(row.p50Ms), inUs(row.p99Ms)].map((one) => withInterval(one)),
      row.calls > 0 ? number(row.redisUs) : undefined,
      row.calls > 0 ? number(row.calls, 2) : undefined,
      row.garbageKb && number(row.garbageKb - rowOf(measured, BARE).garbageKb, 1),
      number(row.perSecond, 0),
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
    ['ours', 'throttler + nest-lab', 'rate-limiter-flexible'].map((library) =>
      cell(`${library} ${end}`, show),
    );
  const cpu = (row) => plusMinus(row.cpuUs);
  const redis = (row) => number(row.redisUs);
  const rate = (row) => number(row.perSecond, 0);
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
      ['measured at, requests/s', ...libraries('5 redis', rate)],
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
  const { measured = {}, rate } = results;
  const each = (show) => platforms.map((platform) => show(rate[platform])).join(' / ');
  // one value if all parts were measured with the same
  const origin = (show) => [...new Set(Object.values(measured).map(show).filter(Boolean))].join(' and ');
  const versions = (...names) => origin((one) => names.map((name) => one.versions[name]).join(', '));
  return table(
    ['', titlesOf(platforms)],
    [
      ['requests per second', each(rateOf)],
      ['blocks', each(({ blocks }) => blocks)],
      ['turns of each variant in a block', each(({ rounds, seconds }) => `${rounds} of ${seconds} s`)],
      ['seed', each(({ seed }) => seed ?? '–')],
      ['processor', origin(({ machine }) => machine && `${machine.processor}, ${machine.cores} cores`)],
      ['Node.js', origin((one) => one.versions.node.slice(1))],
      ['NestJS, ioredis, Redis', versions('@nestjs/core', 'ioredis', 'redis')],
      [
        '@nestjs/throttler, @nest-lab/throttler-storage-redis',
        versions('@nestjs/throttler', '@nest-lab/throttler-storage-redis'),
      ],
      ['rate-limiter-flexible', versions('rate-limiter-flexible')],
      ['@upstash/ratelimit', versions('@upstash/ratelimit')],
      ['redis-semaphore', versions('redis-semaphore')],
      ['date', dates(measured)],
    ].filter(([, value]) => value !== ''),
  );
}

/** The parts of each date; the date alone, if it is the same for all. */
function dates(measured) {
  const parts = Object.entries(measured);
  const all = [...new Set(parts.map(([, { date }]) => date))].sort();
  if (all.length === 1) return all[0];
  const of = (date) => parts.filter(([, one]) => one.date === date).map(([part]) => PARTS[part] ?? part);
  return all.map((date) => `${date}: ${of(date).join(', ')}`).join('; ');
}

const PARTS = {
  'rate fastify': 'fixed rate on Fastify',
  'rate express': 'fixed rate on Express',
  'http fastify': 'saturated on Fastify',
  'http express': 'saturated on Express',
  store: 'the store alone',
  algorithms: 'the kinds of counter',
};

export const tables = {
  'rate fastify': ({ rate }) => added(rate?.fastify),
  'rate express': ({ rate }) => added(rate?.express),
  summary,
  'before and after': beforeAndAfter,
  conditions,
};
