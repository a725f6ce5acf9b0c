import { jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type WatchedClient, watchDatabase } from '../../../../src/store/redis/check-handshake.js';

afterEach(() => {
  jest.useRealTimers();
});

describe('a client that others use too, whose database the server refuses', () => {
  it('is asked no more when it is not watched any more, also where that ends while it is asked', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    let asked = 0;
    let answer: (error: Error) => void = () => undefined;
    const client = Object.assign(new EventEmitter(), {
      status: 'ready',
      isCluster: false,
      options: { db: 3 },
      select: () => {
        asked++;
        return new Promise((_, reject) => (answer = reject));
      },
    }) as unknown as WatchedClient;
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
    expect(asked).toBe(1);
    expect(heard).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
