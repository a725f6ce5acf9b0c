// From the values of rounds to a value with an interval.
import { rounded } from '../rate-rows.mjs';
import { interval, middleOf } from '../stats.mjs';

/** The mean of the middles of all blocks, and its 95 % interval. A block is some rounds that follow one another. */
export function intervalOfBlocks(values, blocks) {
  const rounds = values.length / blocks;
  const middles = Array.from({ length: blocks }, (_, block) =>
    middleOf(values.slice(block * rounds, (block + 1) * rounds)),
  );
  return rounded(interval(middles));
}

const COSTS = ['serverUs', 'scriptUs', 'calls', 'clientUs'];

/** What a request cost in the turns of a limiter. */
export function costsOf(turns, blocks) {
  const valuesOf = (field) => turns.map((turn) => turn[field]);
  return Object.fromEntries(COSTS.map((field) => [field, intervalOfBlocks(valuesOf(field), blocks)]));
}
