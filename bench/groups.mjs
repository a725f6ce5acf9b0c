// Which variants a run measures, and which of them share a process.
import { BARE, BARE_AGAIN, VARIANTS } from './apps/variants.mjs';

const QUICK = [
  'guard with headers 1',
  'guard with headers 5',
  'guard with evalsha 1 redis',
  'ours 5 memory',
  'ours 1 redis',
  'ours 5 redis',
  'throttler + nest-lab 5 redis',
];

const EXPRESS = [
  ...QUICK,
  'constant 429',
  'empty guard',
  'guard with evalsha 5 redis',
  'ours 1 memory',
  'ours 5 redis 1000 clients',
  'ours 5 redis denied',
  'before 5 memory',
  'before 1 redis',
  'before 5 redis',
  'throttler 5 memory',
  'throttler + nest-lab 1 redis',
  'rate-limiter-flexible 1 redis',
  'rate-limiter-flexible 5 redis',
];

/** What a part leaves out, unless it is asked for by --only. */
const LEFT_OUT = {
  rate: /no coalescing|ioredis 5/,
  http: /\b3\b/,
};

/**
 * The groups that share a process, in the order of the tables; a variant is of the last that matches. `also` are variants of
 * other groups that the members are compared with.
 */
const GROUPS = [
  // the bare application has more turns than others where much is compared with it
  { name: 'guards and ours in Redis', members: /./, bareTurns: 3 },
  // an application has one store: code that runs with both is slower than either needs
  {
    name: 'ours in memory',
    members: /^(ours|before) \d memory/,
    also: /^(guard with headers \d|constant 429)$/,
    bareTurns: 3,
  },
  // its cost grows with the requests in the window: that would disturb the others
  { name: 'throttler in memory', members: /^throttler \d/, bareTurns: 2 },
  // slower than the others, perhaps measured at a lower rate
  { name: 'peers on Redis', members: /nest-lab|flexible/, bareTurns: 2 },
];

/** @returns the names of the variants for a part, without the bare ones */
export function namesFor(part, { platform, only, quick, against }) {
  const isWanted = (name) => {
    if (only !== undefined) return isSelected(name, only);
    if (quick) return QUICK.includes(name);
    return (platform !== 'express' || EXPRESS.includes(name)) && !LEFT_OUT[part].test(name);
  };
  const isBase = (name) => Object.keys(VARIANTS).some((one) => VARIANTS[one].base === name && isWanted(one));
  return Object.keys(VARIANTS).filter(
    (name) =>
      name !== BARE &&
      name !== BARE_AGAIN &&
      (isWanted(name) || isBase(name)) &&
      (against !== undefined || VARIANTS[name].needsOldBuild !== true),
  );
}

/** A text selects the variant of that name, else all whose names hold it. */
export function isSelected(name, only) {
  return only.some((text) => (text in VARIANTS ? name === text : name.includes(text)));
}

/** @returns {{ name: string, bareTurns: number, names: string[] }[]} each group begins with its bare applications */
export function groupsOf(names) {
  const groupOf = (name) => GROUPS.findLast(({ members }) => members.test(name));
  return GROUPS.filter((group) => names.some((name) => groupOf(name) === group)).map((group) => ({
    ...group,
    names: [BARE, BARE_AGAIN, ...names.filter((name) => groupOf(name) === group || group.also?.test(name))],
  }));
}
