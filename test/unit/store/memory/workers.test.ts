import { Log } from '../../../../src/core/log.js';
import { warnOfWorkers } from '../../../../src/store/memory/workers.js';

describe('counters in the memory of one of several processes', () => {
  function linesOf(isWorker: boolean, env: NodeJS.ProcessEnv): string[] {
    const lines: string[] = [];
    const note = (line: string): void => void lines.push(line);
    warnOfWorkers(new Log({ log: note, warn: note, error: note }), isWorker, env);
    return lines;
  }

  it.each<[string, boolean, NodeJS.ProcessEnv]>([
    ['a worker of node:cluster', true, {}],
    ['a worker of PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '4' }],
    ['a worker of an older PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0' }],
    ['the first of PM2’s forks', false, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '2' }],
    ['the second of PM2’s forks', false, { NODE_APP_INSTANCE: '1', pm_id: '1' }],
  ])('log one warning in %s', (_, isWorker, env) => {
    expect(linesOf(isWorker, env)).toEqual([
      expect.stringMatching(/^FREQ_LIMIT_MEMORY_PER_WORKER: .*Set the option redis/),
    ]);
  });

  it.each<[string, boolean, NodeJS.ProcessEnv]>([
    ['a single process', false, {}],
    ['the only fork of PM2', false, { NODE_APP_INSTANCE: '0', pm_id: '7' }],
    ['the only worker of PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '1' }],
    ['a process with a variable of the same name', false, { instances: '4' }],
    ['a process with an empty variable', false, { NODE_APP_INSTANCE: '' }],
  ])('log no warning in %s', (_, isWorker, env) => {
    expect(linesOf(isWorker, env)).toEqual([]);
  });
});
