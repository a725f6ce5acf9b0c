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
 * One value for each variant:
 * 1. Subtract from each turn what its round was slower than usual: the median, over the turns of the round, of their
 *    distance to the median of their variant.
 * 2. Per set of turns, take the Hodges-Lehmann middle. A variant with several turns in a round has several sets.
 * 3. Average the sets. (One middle of all turns would ignore more of them.)
 */
function levels(names, turns, field) {
  const valuesOf = (name) => turns.filter((turn) => turn.name === name);
  const medians = new Map(names.map((name) => [name, median(valuesOf(name).map((turn) => turn[field]))]));
  const rounds = Math.max(...turns.map(({ round }) => round)) + 1;
  const common = Array.from({ length: rounds }, (_, round) =>
    median(turns.filter((turn) => turn.round === round).map((turn) => turn[field] - medians.get(turn.name))),
  );
  return names.map((name) => {
    const corrected = valuesOf(name).map((turn) => ({
      set: turn.set,
      value: turn[field] - common[turn.round],
    }));
    const sets = [...new Set(corrected.map(({ set }) => set))];
    const valuesOfSet = (set) => corrected.filter((one) => one.set === set).map(({ value }) => value);
    return [name, mean(sets.map((set) => middleOf(valuesOfSet(set))))];
  });
}

/** @param measured for each block, for each group, the map of blockOf */
export function rowsOf(groups, measured) {
  const all = groups.map((group, i) => {
    const blocks = measured.map((block) => block[i]);
    return {
      group,
      rows: group.names.map((name) => ({ ...rowOf(name, blocks), ...nameAndRate(group) })),
      blocks,
    };
  });
  const rows = all.flatMap((one) => one.rows);
  return {
    // of a variant that is in several groups, the table shows the first row
    rows: rows.filter(({ name }, i) => rows.findIndex((row) => row.name === name) === i),
    groups: all.map(({ group, rows: [bare], blocks }) => ({
      ...nameAndRate(group),
      bareUs: bare.totalCpuUs,
      bareAgain: rounded(interval(added(blocks, BARE_AGAIN, 'cpuUs'), 99)),
    })),
  };
}

function nameAndRate({ name, perSecond }) {
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

export function rounded({ mean: average, from, to }) {
  const digits = (value) => (Number.isFinite(value) ? Number(value.toFixed(3)) : null);
  return { mean: digits(average), from: digits(from), to: digits(to) };
}
