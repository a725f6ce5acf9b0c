// From the turns of a benchmark at a fixed rate to the rows of its table.
import { BARE, BARE_AGAIN } from './apps/variants.mjs';
import { interval, mean, median, middleOf, short } from './stats.mjs';

const ADDED = ['cpuUs', 'gcUs', 'p50Ms', 'p99Ms', 'redisUs'];

/** @returns a map from each variant of a group to its values in this block */
export function blockOf(names, turns, garbage) {
  const values = new Map(names.map((name) => [name, { garbageKb: garbage.get(name) }]));
  for (const field of ADDED) {
    for (const [name, level] of levels(names, turns, field)) values.get(name)[field] = level;
  }
  for (const field of ['calls', 'denied']) {
    for (const name of names) {
      values.get(name)[field] = mean(turns.filter((turn) => turn.name === name).map((turn) => turn[field]));
    }
  }
  return values;
}

/**
 * One value for each variant. What all turns of a round have in common is taken off first (the median, over the turns of
 * the round, of their distance to their variant's median), so that a round in which the machine was slow counts like the
 * others; then the middle of what remains, so that one disturbed turn does not decide. A variant with several turns in a
 * round has several sets of turns, and gets the mean of their middles: a middle of more turns would ignore more.
 */
function levels(names, turns, field) {
  const valuesOf = (name) => turns.filter((turn) => turn.name === name);
  const usual = new Map(names.map((name) => [name, median(valuesOf(name).map((turn) => turn[field]))]));
  const rounds = Math.max(...turns.map(({ round }) => round)) + 1;
  const common = Array.from({ length: rounds }, (_, round) =>
    median(turns.filter((turn) => turn.round === round).map((turn) => turn[field] - usual.get(turn.name))),
  );
  return names.map((name) => {
    const rests = valuesOf(name).map((turn) => ({ set: turn.set, rest: turn[field] - common[turn.round] }));
    const sets = [...new Set(rests.map(({ set }) => set))];
    const restsOf = (set) => rests.filter((one) => one.set === set).map(({ rest }) => rest);
    return [name, mean(sets.map((set) => middleOf(restsOf(set))))];
  });
}

/** @param measured for each block, for each group, the map of blockOf */
export function rowsOf(groups, measured) {
  const all = groups.map((group, i) => {
    const blocks = measured.map((block) => block[i]);
    return {
      group,
      rows: group.names.map((name) => ({ ...rowOf(name, blocks), ...placeOf(group) })),
      blocks,
    };
  });
  const isBare = ({ name }) => name === BARE || name === BARE_AGAIN;
  return {
    // the bare applications of the first group stand for all in the table
    rows: all.flatMap(({ rows }, i) => (i === 0 ? rows : rows.filter((row) => !isBare(row)))),
    groups: all.map(({ group, rows, blocks }) => ({
      ...placeOf(group),
      bareUs: rows[0].totalCpuUs,
      bareAgain: rounded(interval(added(blocks, BARE_AGAIN, 'cpuUs'), 99)),
    })),
  };
}

function placeOf({ name, perSecond }) {
  return { group: name, perSecond };
}

function added(blocks, name, field) {
  return blocks.map((block) => block.get(name)[field] - block.get(BARE)[field]);
}

function rowOf(name, blocks) {
  const row = { name };
  for (const field of ['cpuUs', 'gcUs', 'p50Ms', 'p99Ms']) {
    row[field] = rounded(interval(added(blocks, name, field)));
  }
  const meanOf = (field) => short(mean(blocks.map((block) => block.get(name)[field])));
  return {
    ...row,
    redisUs: short(Math.max(0, mean(added(blocks, name, 'redisUs')))),
    calls: meanOf('calls'),
    denied: meanOf('denied'),
    totalCpuUs: meanOf('cpuUs'),
    garbageKb: meanOf('garbageKb'),
  };
}

export function rounded({ mean: middle, from, to }) {
  const digits = (value) => (Number.isFinite(value) ? Number(value.toFixed(3)) : null);
  return { mean: digits(middle), from: digits(from), to: digits(to) };
}

export class NoisyMachineError extends Error {}

/**
 * Measured twice, the same application must not differ: else the machine was not quiet enough for any other row. Each
 * process is tested at 99 %, so that a false alarm in one of three comes in about 3 % of all runs.
 */
export function requireQuiet(groups) {
  for (const { group, bareAgain } of groups) {
    const { from, to } = bareAgain;
    if (from === null || (from <= 0 && to >= 0)) continue;
    throw new NoisyMachineError(
      `The bare application, measured twice ("${group}"), differs from itself by ${from} to ${to} µs of CPU per request ` +
        '(99 %). The machine is too noisy for these figures: stop other programs, or take more blocks (--blocks).',
    );
  }
}
