// The goals of this library for its own speed, and whether they are met.
import { PLATFORMS } from './labels.mjs';
import { table, withInterval } from './markdown.mjs';

/** Plain words for the goals of bench/rate-goals.mjs. */
const WORDS = {
  'memory, 5 limits, added to a guard with the same headers':
    'five limits in memory: CPU added, compared to a guard that sets the same headers',
  'Redis, 1 limit, added to a guard with the same headers':
    'one limit in Redis: CPU added, compared to a guard that sets the same headers',
  'one evalsha, added to a guard with the same headers':
    'a guard with one evalsha: CPU added, compared to a guard that sets the same headers',
  'Redis, 1 limit, to one evalsha': 'one limit in Redis: CPU added, compared to a guard with one evalsha',
  'each further limit, Redis': 'each further limit in Redis: CPU added',
  'each further limit, memory': 'each further limit in memory: CPU added',
  'denied (memory), CPU of the process to a constant 429':
    'denied, counted in memory: CPU, compared to a guard that always throws the 429',
  'denied (redis), CPU of the process to a constant 429':
    'denied by the deny cache: CPU, compared to a guard that always throws the 429',
  'garbage, ours 1 redis, to bare': 'one limit in Redis: garbage, compared to the bare application',
  'garbage, ours 5 redis, to bare': 'five limits in Redis: garbage, compared to the bare application',
  'garbage, ours 5 memory, to bare': 'five limits in memory: garbage, compared to the bare application',
  'garbage, ours 1 redis, to one evalsha':
    'one limit in Redis: garbage, compared to a guard with one evalsha',
};

/** The goals at a fixed rate are those of Fastify. */
function atFixedRate({ rate }) {
  return (rate?.fastify?.goals ?? []).map(({ name, unit, goal, mean, from, to }) => ({
    text: WORDS[name] ?? name,
    atMost: goal,
    unit,
    measured: { mean, from, to },
    shown: unit === '×' ? withInterval({ mean, from, to }, 2) : withInterval({ mean, from, to }),
  }));
}

/** Share of the requests that the bare application answers. */
const THROUGHPUT = [
  ['fastify', 'ours 5 memory', 'five limits in memory', 0.85],
  ['fastify', 'ours 5 redis', 'five limits in Redis', 0.7],
  ['fastify', 'ours 5 redis 1000 clients', 'five limits in Redis, 1,000 clients', 0.65],
  ['express', 'ours 5 memory', 'five limits in memory', 0.95],
  ['express', 'ours 5 redis', 'five limits in Redis', 0.95],
];

function saturated({ http = {} }) {
  return THROUGHPUT.flatMap(([platform, name, text, atLeast]) => {
    const row = http[platform]?.find((one) => one.name === name);
    if (row === undefined) return [];
    const { throughput: mean, from, to, toHeaders } = row;
    const start = `${PLATFORMS[platform]}, saturated: requests/s with ${text}, compared to`;
    return [
      { ...ratioGoal(`${start} the bare application`, undefined, { mean, from, to }), atLeast },
      ...(toHeaders ? [ratioGoal(`${start} a guard that sets the same headers`, undefined, toHeaders)] : []),
    ];
  });
}

const STORE = [
  [/all keys distinct/, 'clientUs', 'the store alone, own counters: CPU of the process per check', 2, 'µs'],
  [
    /all keys distinct/,
    'serverCpu',
    'the store alone, own counters: CPU of Redis per check, compared to raw `INCR` and `PTTL`',
    1.5,
    '×',
  ],
  [/1 for all/, 'serverCpu', 'the same, shared counters', 0.8, '×'],
];

function stores({ store = [] }) {
  return STORE.flatMap(([title, field, text, atMost, unit]) => {
    const section = store.find((one) => title.test(one.title));
    const measured = section?.rows.find(({ name }) => name === 'ours')?.intervals?.[field];
    if (measured === undefined) return [];
    return { text, atMost, unit, measured, shown: withInterval(measured, 2) };
  });
}

/** By kind of counter, the bound of its ratios. */
const KINDS = { 'sliding window': 1.7, 'token bucket': 2.1, lease: 3.2 };
const KINDS_AT = 32;

function kinds({ algorithms }) {
  const sections = [...(algorithms?.kinds ?? []), ...(algorithms?.settlements ?? [])];
  const rows = sections.filter(({ checks }) => checks === KINDS_AT).flatMap((section) => section.rows);
  return Object.entries(KINDS).flatMap(([kind, atMost]) => {
    const row = rows.find(({ name }) => name === `${kind}, passes`);
    const text = `${kind}, ${KINDS_AT} checks per call: CPU of Redis per check, compared to`;
    return row === undefined
      ? []
      : [
          ratioGoal(`${text} a script with \`INCR\` and \`PTTL\``, atMost, row.cpu),
          ratioGoal(`${text} a fixed window`, atMost, row.cpuToFixed),
        ];
  });
}

function againstBefore({ algorithms }) {
  return (algorithms?.before ?? [])
    .filter(({ state }) => state === 'passes')
    .map(({ checks, cpu }) => {
      const call = checks === 1 ? '1 check per call' : `${checks} checks per call`;
      const text = `fixed window, ${call}: CPU of Redis per check, compared to before there were other kinds`;
      return ratioGoal(text, 1.03, cpu.ratio, 3);
    });
}

function ratioGoal(text, atMost, measured, digits = 2) {
  return { text, atMost, unit: '×', measured, shown: withInterval(measured, digits) };
}

function goals(results) {
  if (results.rate?.fastify?.goals === undefined) return undefined;
  const all = [
    ...atFixedRate(results),
    ...saturated(results),
    ...stores(results),
    ...kinds(results),
    ...againstBefore(results),
  ];
  return table(
    ['', 'goal', 'measured', 'met'],
    all.map((goal) => [goal.text, bound(goal), goal.shown, isMet(goal)]),
  );
}

function bound({ atMost, atLeast, unit }) {
  if (atMost === undefined && atLeast === undefined) return undefined;
  return [atMost === undefined ? `≥ ${atLeast}` : `≤ ${atMost}`, unit].filter(Boolean).join(' ');
}

/** An interval that contains the bound says neither. */
function isMet({ atMost, atLeast, measured: { mean, from, to } }) {
  if (atMost === undefined && atLeast === undefined) return undefined;
  const [low, high] = [from ?? mean, to ?? mean];
  if (low >= (atLeast ?? -Infinity) && high <= (atMost ?? Infinity)) return 'yes';
  return high < (atLeast ?? -Infinity) || low > (atMost ?? Infinity) ? 'no' : 'not sure';
}

export const tables = { goals };
