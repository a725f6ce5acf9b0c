// The figures of the project's goals, each computed from the blocks, with its interval.
import { rounded } from './rate-rows.mjs';
import { jackknife, mean } from './stats.mjs';

const MEMORY_5 = ['ours 5 memory', 'guard with headers 5'];
const MEMORY_1 = ['ours 1 memory', 'guard with headers 1'];
const REDIS_5 = ['ours 5 redis', 'guard with headers 5'];
const REDIS_1 = ['ours 1 redis', 'guard with headers 1'];
const EVALSHA_1 = ['guard with evalsha 1 redis', 'guard with headers 1'];

const HEADERS = 'added to a guard with the same headers';

/** `of` takes the CPU of the first less that of the second, `cpu` and `garbage` those of one variant. */
const GOALS = [
  { name: `memory, 5 limits, ${HEADERS}`, unit: 'µs', goal: 6, value: ({ of }) => of(MEMORY_5) },
  { name: `Redis, 1 limit, ${HEADERS}`, unit: 'µs', value: ({ of }) => of(REDIS_1) },
  { name: `one evalsha, ${HEADERS}`, unit: 'µs', value: ({ of }) => of(EVALSHA_1) },
  {
    name: 'Redis, 1 limit, to one evalsha',
    unit: '×',
    goal: 1.2,
    value: ({ of }) => of(REDIS_1) / of(EVALSHA_1),
  },
  {
    name: 'each further limit, Redis',
    unit: 'µs',
    goal: 1.5,
    value: ({ of }) => (of(REDIS_5) - of(REDIS_1)) / 4,
  },
  {
    name: 'each further limit, memory',
    unit: 'µs',
    goal: 1.5,
    value: ({ of }) => (of(MEMORY_5) - of(MEMORY_1)) / 4,
  },
  ...['memory', 'redis'].map((store) => ({
    name: `denied (${store}), CPU of the process to a constant 429`,
    unit: '×',
    goal: 1.2,
    value: ({ cpu }) => cpu(`ours 5 ${store} denied`) / cpu('constant 429'),
  })),
  ...['ours 1 redis', 'ours 5 redis', 'ours 5 memory'].map((name) => ({
    name: `garbage, ${name}, to bare`,
    unit: '×',
    goal: 1.3,
    value: ({ garbage }) => garbage(name) / garbage('bare'),
  })),
  {
    name: 'garbage, ours 1 redis, to one evalsha',
    unit: '×',
    value: ({ garbage }) => garbage('ours 1 redis') / garbage('guard with evalsha 1 redis'),
  },
];

/** @returns {{ name, unit, goal, mean, from, to }[]} without those whose variants were not measured */
export function goalsOf(measured) {
  const groups = measured[0].map((_, i) => measured.map((block) => block[i]));
  return GOALS.flatMap(({ name, unit, goal, value }) => {
    // the first group that has its variants
    const found = groups
      .map((blocks) => jackknife(blocks, (some) => value(readerOf(some))))
      .find((one) => Number.isFinite(one.mean));
    return found === undefined ? [] : [{ name, unit, goal, ...rounded(found) }];
  });
}

function readerOf(blocks) {
  const read = (field) => (name) => mean(blocks.map((block) => block.get(name)?.[field] ?? NaN));
  const cpu = read('cpuUs');
  return { cpu, garbage: read('garbageKb'), of: ([name, base]) => cpu(name) - cpu(base) };
}
