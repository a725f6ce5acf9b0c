// Whether the machine was quiet enough for figures at a fixed rate.

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
