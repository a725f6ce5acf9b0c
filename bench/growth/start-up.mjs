// Start-up of Express applications with many handlers, counters in memory: the time and the heap that the library adds. Each
// start is a process of its own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { median, short } from '../stats.mjs';

const APP = fileURLToPath(new URL('start-up-app.mjs', import.meta.url));
const PER_CONTROLLER = 20;
/** With fewer, most of the difference does not depend on the number of handlers. */
const FEWEST_TO_DIVIDE_BY = 1000;
const RULES = [
  { rules: 1, moduleRules: 0 },
  { rules: 3, moduleRules: 0 },
  { rules: 0, moduleRules: 2 },
  { rules: 3, moduleRules: 2 },
];

export async function startUp(redis, { rounds, quick }, say) {
  const rows = [];
  if (quick) rows.push(...(await rowsOf(1000, [RULES[1]], 1, say)));
  else {
    for (const handlers of [10, 1000, 10_000]) rows.push(...(await rowsOf(handlers, RULES, rounds, say)));
    // all in one controller
    rows.push(...(await rowsOf(1000, [RULES[1]], rounds, say, 1000)));
  }
  return [
    {
      id: 'start-up',
      title: 'Start-up, Express, memory store: the difference to the same application without the library',
      columns: [
        'handlers',
        'per controller',
        'rules each',
        'module rules',
        'without ms',
        'added ms',
        'added MB',
        'µs/handler',
        'kB/handler',
        'first request, added ms',
      ],
      rows,
    },
  ];
}

async function rowsOf(handlers, allRules, rounds, say, perController = PER_CONTROLLER) {
  say(`growth: start-up with ${handlers} handlers`);
  const specs = [{ isLimited: false }, ...allRules.map((rules) => ({ isLimited: true, ...rules }))];
  const runs = specs.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, spec] of specs.entries()) runs[i].push(await run({ handlers, perController, ...spec }));
  }
  const middle = (i, field) => median(runs[i].map((one) => one[field]));
  return allRules.map(({ rules, moduleRules }, i) => {
    const added = (field) => middle(i + 1, field) - middle(0, field);
    const [ms, bytes] = [added('startMs'), added('heapBytes')];
    const each = (value) => (handlers < FEWEST_TO_DIVIDE_BY ? NaN : value);
    const costs = [
      middle(0, 'startMs'),
      ms,
      bytes / 1e6,
      each((1000 * ms) / handlers),
      each(bytes / 1000 / handlers),
      added('firstRequestMs'),
    ];
    return [handlers, perController, rules, moduleRules, ...costs.map(short)];
  });
}

async function run(spec) {
  const child = fork(APP, [JSON.stringify(spec)], { execArgv: ['--expose-gc'] });
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`an application of the benchmark ended with ${code}`);
  });
  const [result] = await Promise.race([once(child, 'message'), failed]);
  failed.catch(() => undefined);
  await failed.catch(() => undefined);
  return result;
}
