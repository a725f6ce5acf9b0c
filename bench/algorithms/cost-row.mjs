import { ratios } from '../race.mjs';
import { intervalOfBlocks } from './blocks.mjs';

/**
 * What a check costs Redis.
 * @param own the turns of a variant
 * @param minimal those of the minimal script: `cpu` and `script` are ratios to it
 * @param fixed those of the fixed window: `cpuToFixed` is the ratio to it
 */
export function costRow({ own, minimal, fixed, blocks }) {
  const of = (values) => intervalOfBlocks(values, blocks);
  const all = (field) => of(own.map((one) => one[field]));
  return {
    ...{ cpuUs: all('serverUs'), cpu: of(ratios(own, minimal, 'serverUs')) },
    cpuToFixed: of(ratios(own, fixed, 'serverUs')),
    ...{ scriptUs: all('scriptUs'), script: of(ratios(own, minimal, 'scriptUs')) },
  };
}
