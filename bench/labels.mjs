// What the chart and the tables call the variants.
import { number } from './markdown.mjs';

const LABELS = {
  bare: 'the bare application',
  'bare again': 'the bare application, measured again',
  'constant 429': 'a guard that always throws the 429',
  'empty guard': 'a guard that does nothing',
  'guard with headers 1': 'a guard that sets the headers of 1 limit',
  'guard with headers 3': 'a guard that sets the headers of 3 limits',
  'guard with headers 5': 'a guard that sets the headers of 5 limits',
  'guard with evalsha 1 redis': 'a guard with one evalsha, 1 counter',
  'guard with evalsha 3 redis': 'a guard with one evalsha, 3 counters',
  'guard with evalsha 5 redis': 'a guard with one evalsha, 5 counters',
  'guard with evalsha 5 redis 1000 clients': 'a guard with one evalsha, 5 counters, 1,000 clients',
  'ours 1 memory': 'nestjs-freq-limit, memory, 1 limit',
  'ours 3 memory': 'nestjs-freq-limit, memory, 3 limits',
  'ours 5 memory': 'nestjs-freq-limit, memory, 5 limits',
  'ours 1 redis': 'nestjs-freq-limit, Redis, 1 limit',
  'ours 3 redis': 'nestjs-freq-limit, Redis, 3 limits',
  'ours 5 redis': 'nestjs-freq-limit, Redis, 5 limits',
  'ours 5 redis 1000 clients': 'nestjs-freq-limit, Redis, 5 limits, 1,000 clients',
  'ours 1 redis no coalescing': 'nestjs-freq-limit, Redis, 1 limit, `coalesce: false`',
  'ours 3 redis no coalescing': 'nestjs-freq-limit, Redis, 3 limits, `coalesce: false`',
  'ours 5 redis no coalescing': 'nestjs-freq-limit, Redis, 5 limits, `coalesce: false`',
  'ours 1 redis ioredis 5': 'nestjs-freq-limit, Redis, 1 limit, ioredis 5',
  'ours 3 redis ioredis 5': 'nestjs-freq-limit, Redis, 3 limits, ioredis 5',
  'ours 5 redis ioredis 5': 'nestjs-freq-limit, Redis, 5 limits, ioredis 5',
  'ours 5 memory denied': 'nestjs-freq-limit, memory, 5 limits, over the limit',
  'ours 5 redis denied': 'nestjs-freq-limit, Redis, 5 limits, over the limit',
  'throttler 1 memory': '@nestjs/throttler, memory, 1 limit',
  'throttler 5 memory': '@nestjs/throttler, memory, 5 limits',
  'throttler + nest-lab 1 redis': '@nestjs/throttler, Redis, 1 limit',
  'throttler + nest-lab 5 redis': '@nestjs/throttler, Redis, 5 limits',
  'rate-limiter-flexible 1 redis': 'rate-limiter-flexible, Redis, 1 limit',
  'rate-limiter-flexible 5 redis': 'rate-limiter-flexible, Redis, 5 limits',
};

export const labelOf = (name) => LABELS[name] ?? name;

/** An earlier build has no label: it has a table of its own. */
export const hasLabel = (name) => name in LABELS;

/** The label of a variant, with the measured share of denied requests. @param rows one of each platform, or none */
export function labelOfRows(name, rows) {
  if (!name.endsWith(' denied')) return labelOf(name);
  const shares = rows.filter(Boolean).map(({ denied }) => `${number(100 * denied, 1)} %`);
  return `${labelOf(name)}: ${[...new Set(shares)].join(' / ')} denied`;
}

const ORDER = Object.keys(LABELS);

export const byOrder = (a, b) => ORDER.indexOf(a) - ORDER.indexOf(b);

export const PLATFORMS = { fastify: 'Fastify', express: 'Express' };

/** How many requests per second the rows were measured at, as 4,000 or 1,200 to 4,000. */
export function rateOf({ rows }) {
  const rates = rows.map(({ perSecond }) => perSecond);
  const [low, high] = [Math.min(...rates), Math.max(...rates)].map((rate) => number(rate, 0));
  return low === high ? low : `${low} to ${high}`;
}
