import { warnOfWorkers } from '../../../../src/store/memory/workers.js';

describe('counters in the memory of one of several processes', () => {
  function linesOf(isWorker: boolean, env: NodeJS.ProcessEnv): string[] {
    const lines: string[] = [];
    const note = (line: string): void => void lines.push(line);
    warnOfWorkers({ warn: note, error: note }, isWorker, env);
    return lines;
  }

  it.each<[string, boolean, NodeJS.ProcessEnv]>([
    ['a worker of node:cluster', true, {}],
    ['a worker of PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '4' }],
    ['a worker of an older PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0' }],
    ['the first of PM2’s forks', false, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '2' }],
    ['the second of PM2’s forks', false, { NODE_APP_INSTANCE: '1', pm_id: '1' }],
  ])('log one warning in %s', (_, isWorker, env) => {
    expect(linesOf(isWorker, env)).toEqual([expect.stringContaining('Set the option redis')]);
  });

  it.each<[string, boolean, NodeJS.ProcessEnv]>([
    ['a process of its own', false, {}],
    ['the only fork of PM2', false, { NODE_APP_INSTANCE: '0', pm_id: '7' }],
    ['the only worker of PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '1' }],
    ['a process with a variable that is called the same', false, { instances: '4' }],
    ['a process with an empty one', false, { NODE_APP_INSTANCE: '' }],
  ])('log no warning in %s', (_, isWorker, env) => {
    expect(linesOf(isWorker, env)).toEqual([]);
  });
});
