import { isOneOfSeveral } from '../../../../src/store/memory/workers.js';

describe('isOneOfSeveral', () => {
  it.each<[string, boolean, NodeJS.ProcessEnv]>([
    ['a worker of node:cluster', true, {}],
    ['a worker of PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '4' }],
    ['a worker of an older PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0' }],
    ['the first of PM2’s forks', false, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '2' }],
    ['the second of PM2’s forks', false, { NODE_APP_INSTANCE: '1', pm_id: '1' }],
  ])('is true in %s', (_, isWorker, env) => {
    expect(isOneOfSeveral(env, isWorker)).toBe(true);
  });

  it.each<[string, boolean, NodeJS.ProcessEnv]>([
    ['a single process', false, {}],
    ['the only fork of PM2', false, { NODE_APP_INSTANCE: '0', pm_id: '7' }],
    ['the only worker of PM2', true, { NODE_APP_INSTANCE: '0', pm_id: '0', instances: '1' }],
    ['a process with a variable of the same name', false, { instances: '4' }],
    ['a process with an empty variable', false, { NODE_APP_INSTANCE: '' }],
  ])('is false in %s', (_, isWorker, env) => {
    expect(isOneOfSeveral(env, isWorker)).toBe(false);
  });
});
