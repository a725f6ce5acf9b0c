import { Log } from '../../../../src/core/log.js';
import { type MemoryReason, warnOfMemory } from '../../../../src/store/memory/memory-warnings.js';

function linesOf(reason: MemoryReason, env: NodeJS.ProcessEnv, isWorker = false): string[] {
  const lines: string[] = [];
  const note = (line: string): void => void lines.push(line);
  warnOfMemory(reason, new Log({ log: note, warn: note, error: note }), env, isWorker);
  return lines;
}

const PRODUCTION = { NODE_ENV: 'production' };
const ADVICE =
  ', so limits are counted in the memory of this process. A restart forgets all counts, and each process allows the full ' +
  "limit. Set redis to the URL of your Redis, such as 'redis://localhost:6379'. If you mean to count in memory, write " +
  'redis: false.';

describe('counters in the memory of this process', () => {
  it.each([{}, { NODE_ENV: 'test' }, PRODUCTION])('log one warning if redis is undefined, in %j', (env) => {
    const why = 'The option redis is undefined, for example because an environment variable is not set';
    expect(linesOf('unset', env)).toEqual([`FREQ_LIMIT_MEMORY_ONLY: ${why}${ADVICE}`]);
  });

  it('log one warning in production if redis was left out', () => {
    const why = 'NODE_ENV is production and the option redis is missing';
    expect(linesOf(undefined, PRODUCTION)).toEqual([`FREQ_LIMIT_MEMORY_ONLY: ${why}${ADVICE}`]);
  });

  it.each([{}, { NODE_ENV: 'development' }, { NODE_ENV: 'test' }])(
    'log nothing in %j if redis was left out',
    (env) => {
      expect(linesOf(undefined, env)).toEqual([]);
    },
  );

  it.each([{}, PRODUCTION])('log nothing in %j if they were chosen, also in workers', (env) => {
    expect([...linesOf('chosen', env), ...linesOf('chosen', env, true)]).toEqual([]);
  });

  it.each<[MemoryReason, NodeJS.ProcessEnv, string]>([
    [undefined, {}, 'Limits are counted in the memory of this process.'],
    [undefined, PRODUCTION, 'Limits are counted in the memory of this process.'],
    ['unset', PRODUCTION, 'The option redis is undefined, for example because an environment variable'],
  ])('log one warning in a worker, about the workers (%s, %j)', (reason, env, start) => {
    expect(linesOf(reason, env, true)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^FREQ_LIMIT_MEMORY_PER_WORKER: ${start}.* It is one of several workers.*write redis: false\\.$`,
        ),
      ),
    ]);
  });
});
