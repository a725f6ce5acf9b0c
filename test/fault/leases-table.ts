// Prints the results of a long run of leases and settled costs as a Markdown table:
// node --import ./test/support/typescript.mjs test/fault/leases-table.ts
import { LEASE_TIMES } from '../../src/core/leases.js';
import { LIMITS, SIZE } from './leases/options.js';
import { type Run, runLeases } from './leases/run.js';

const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 300);
const SEED = Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 1e9));

const number = (value: number): string => value.toLocaleString('en-US');
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const of = (run: Run, ...names: string[]): string =>
  number(names.reduce((sum, name) => sum + (run.troubles[name] ?? 0), 0));

const ROWS: readonly (readonly [string, (run: Run) => string])[] = [
  ['processes at the same time', () => number(SIZE)],
  ['length of the run', (run) => `${number(run.seconds)} s`],
  ['processes killed by `kill -9`', ({ killed }) => number(killed)],
  ['processes stopped for less than the life of a lease', ({ shortStops }) => number(shortStops)],
  ['processes stopped for longer', ({ longStops }) => number(longStops)],
  ['restarts of Redis by `kill -9`', (run) => of(run, 'restart')],
  ['network cut for a short time', (run) => of(run, 'short cut', 'reset', 'lost reply')],
  ['network cut for longer than the life of a lease', (run) => of(run, 'long cut')],
  ['network or Redis slow or silent', (run) => of(run, 'hang', 'delay', 'pause')],
  ['leases taken', ({ leases }) => number(leases)],
  ['of them renewed', ({ renewed }) => number(renewed)],
  ['works aborted because their lease may have lapsed', ({ aborted }) => number(aborted)],
  [`most leases at once, with a limit of ${LIMITS.strict}`, ({ most }) => number(most)],
  [
    `most at once with a limit of ${LIMITS.soft} that counts in memory without Redis`,
    ({ mostSoft }) => number(mostSoft),
  ],
  ['longest work after its lease may have lapsed', ({ longestOverrunMs }) => seconds(longestOverrunMs)],
  [
    'longest time until the leases of a killed process were free',
    ({ longestFreeMs }) => seconds(longestFreeMs),
  ],
  ['requests charged and settled', ({ costs }) => number(costs.settled)],
  [
    'requests charged, whose settlement got no answer or was not sent',
    ({ costs }) => number(costs.unsettled),
  ],
  ['of them settled', ({ costs }) => number(costs.settledWithoutAnswer)],
  ['counters that differ from what was settled', ({ costs }) => number(costs.wrong.length)],
  ['other faults', ({ faults, costs }) => number(faults.length - costs.wrong.length)],
];

process.stderr.write(`leases: ${SECONDS} s, SOAK_SEED=${SEED}\n`);
const run = await runLeases({ seconds: SECONDS, seed: SEED, times: LEASE_TIMES });
for (const [name, cell] of [['', () => ''], ['---', () => '---'], ...ROWS] as typeof ROWS)
  process.stdout.write(`| ${name} | ${cell(run)} |\n`);
if (run.faults.length > 0) {
  process.stderr.write(`${run.faults.slice(0, 50).join('\n')}\n`);
  process.exitCode = 1;
}
