import { parseArgs } from 'node:util';
import { VARIANTS } from './apps/variants.mjs';
import { isSelected } from './groups.mjs';
import { PLATFORMS } from './labels.mjs';

const PARTS = ['rate', 'http', 'store', 'algorithms', 'growth'];
const PLATFORM_NAMES = Object.keys(PLATFORMS);

const help = () => `npm run bench -- [options]
  --parts     ${PARTS.join(',')}: what to run; results.json keeps the other parts   (all)
  --platform  ${PLATFORM_NAMES.join(',')}                                                        (both)
  --blocks    rate and http: how often all applications are started in fresh processes;
              the 95 % intervals are over the blocks                     (see below)
              algorithms: how many values the rounds are summed up to, for the 95 % intervals (8)
  --rounds    turns of each variant: in a block (rate, http, and algorithms, 3), or in all (store and growth, 5)
  --seconds   rate: length of a turn                                               (0.5)
  --rate      rate: requests per second; without it, at most 4000 and half of what the slowest can do
  --seed      a number: the order of the turns and the times of the requests       (a new one for each run)
  --only      texts, by commas: of rate and http, only variants of such a name, or whose names contain one;
              for trying, writes no results
  --quick     few variants, 2 blocks, small sizes: for trying, takes about two minutes; writes no results
  --help
The environment says the same: BENCH_ROUNDS=9 BENCH_PLATFORM=fastify ...
BENCH_AGAINST=<directory> names another build of this library (package.json and dist), and adds rows of it: "before".
Blocks and rounds without options: ${sizesText()}.`;

/** How much of each part makes a complete run useful within 40 minutes. */
const SIZES = {
  rate: { fastify: { blocks: 8, rounds: 4 }, express: { blocks: 6, rounds: 3 } },
  http: { fastify: { blocks: 6, rounds: 1 }, express: { blocks: 5, rounds: 1 } },
};
const SIZES_ELSE = { algorithms: { blocks: 8, rounds: 3 }, store: { rounds: 5 }, growth: { rounds: 5 } };
const QUICK = { blocks: 2, rounds: 2 };

const NAMES = ['parts', 'platform', 'rounds', 'blocks', 'rate', 'seconds', 'seed', 'only'];

const MAX_SEED = 2 ** 32;

function sizesText() {
  const of = (part) =>
    Object.entries(SIZES[part]).map(
      ([platform, { blocks, rounds }]) => `${platform} ${blocks} and ${rounds}`,
    );
  return ['rate', 'http'].map((part) => `${part}: ${of(part).join(', ')}`).join('; ');
}

/** The options, with the blocks and rounds of a part. */
export function sizesOf(options, part, platform) {
  const { blocks, rounds } = options.quick ? QUICK : (SIZES[part]?.[platform] ?? SIZES_ELSE[part]);
  return { ...options, blocks: options.blocks ?? blocks, rounds: options.rounds ?? rounds };
}

export function readOptions() {
  try {
    return read();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

function read() {
  const types = Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }]));
  const { values } = parseArgs({
    options: { ...types, quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) {
    console.log(help());
    process.exit();
  }
  const given = (name) => values[name] ?? process.env[`BENCH_${name.toUpperCase()}`];
  const quick = values.quick ?? process.env.BENCH_QUICK === '1';
  return {
    quick,
    parts: oneOf('parts', given('parts'), PARTS),
    platforms: oneOf('platform', given('platform'), quick ? ['fastify'] : PLATFORM_NAMES, PLATFORM_NAMES),
    ...{ rounds: whole('rounds', given('rounds')), blocks: whole('blocks', given('blocks')) },
    rate: whole('rate', given('rate')),
    seconds: positive('seconds', given('seconds')) ?? 0.5,
    seed: whole('seed', given('seed')) ?? Math.floor(Math.random() * MAX_SEED),
    only: variants(given('only')),
    against: process.env.BENCH_AGAINST,
  };
}

/** @returns the texts of a list, all if there is none */
function oneOf(name, text, all, known = all) {
  if (text === undefined) return all;
  const found = list(text);
  for (const one of found) {
    if (!known.includes(one)) throw new Error(`--${name}: "${one}" is not one of ${known.join(', ')}`);
  }
  return found;
}

function positive(name, text) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name}: "${text}" is not a number above 0`);
  return value;
}

function whole(name, text) {
  const value = positive(name, text);
  if (value === undefined || Number.isInteger(value)) return value;
  throw new Error(`--${name}: "${text}" is not a whole number`);
}

function variants(text) {
  if (text === undefined) return undefined;
  const only = list(text);
  const names = Object.keys(VARIANTS);
  for (const one of only) {
    if (names.some((name) => isSelected(name, [one]))) continue;
    throw new Error(`--only: no variant has "${one}" in its name. There are:\n  ${names.join('\n  ')}`);
  }
  return only;
}

function list(text) {
  return text.split(',').map((part) => part.trim());
}
