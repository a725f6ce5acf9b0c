import { jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type DatabaseClient, watchDatabase } from '../../../../src/store/redis/database-check.js';

afterEach(() => {
  jest.useRealTimers();
});

describe('a client whose database the server refuses', () => {
  it('gets no other SELECT after the watch was stopped, even while one is in flight', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    let selects = 0;
    let answer: (error: Error) => void = () => undefined;
    const client = Object.assign(new EventEmitter(), {
      status: 'ready',
      isCluster: false,
      options: { db: 3 },
      select: () => {
        selects++;
        return new Promise((_, reject) => (answer = reject));
      },
    }) as unknown as DatabaseClient;
    const heard: string[] = [];
    const stop = watchDatabase(client, {
      onReady: () => void heard.push('ready'),
      onRefused: () => void heard.push('refused'),
    });
    stop();
    answer(new Error('NOPERM'));
    await nextTurn();
    jest.advanceTimersByTime(5_000);
    await nextTurn();
    expect(selects).toBe(1);
    expect(heard).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
