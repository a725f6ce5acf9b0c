import { parseArgs } from 'node:util';

const HELP = `npm run bench -- [options]
  --parts     rate,http,store,growth: what to run; the rest of results.json stays   (all)
  --platform  express,fastify                                                      (both)
  --rounds    turns of each variant; medians are taken over them                   (5)
  --blocks    at a fixed rate: how often all applications are started afresh       (8)
  --rate      requests per second; without it, half of what the slowest one can do, at most 4000
  --seconds   length of a turn under HTTP, whole seconds                           (1)
  --only      texts, by commas: only HTTP variants of such a name, or whose names hold one of them
  --quick     few variants, 2 rounds, small sizes: for trying; writes no results
The environment says the same: BENCH_ROUNDS=9 BENCH_PLATFORM=fastify …
BENCH_AGAINST=<directory> names another build of this library (package.json and dist), and adds rows of it: "before".`;

const NAMES = ['parts', 'platform', 'rounds', 'blocks', 'rate', 'seconds', 'only'];

export function readOptions() {
  const types = Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }]));
  const { values } = parseArgs({
    options: { ...types, quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) {
    console.log(HELP);
    process.exit();
  }
  const given = (name, otherwise) => values[name] ?? process.env[`BENCH_${name.toUpperCase()}`] ?? otherwise;
  const quick = values.quick ?? process.env.BENCH_QUICK === '1';
  return {
    quick,
    parts: list(given('parts', 'rate,http,store,growth')),
    platforms: list(given('platform', 'express,fastify')),
    rounds: Number(given('rounds', quick ? '2' : '5')),
    blocks: Number(given('blocks', quick ? '2' : '8')),
    rate: given('rate', undefined) && Number(given('rate')),
    seconds: Number(given('seconds', '1')),
    only: given('only', undefined) && list(given('only')),
    against: process.env.BENCH_AGAINST,
  };
}

function list(text) {
  return text.split(',').map((part) => part.trim());
}
