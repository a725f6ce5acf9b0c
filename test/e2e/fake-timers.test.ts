import { jest } from '@jest/globals';
import { Log } from '../../src/core/log.js';
import { check } from '../support/check.js';
import { uniqueNamespace } from '../support/redis.js';
import { type Server, startServer } from '../support/server.js';

let server: Server;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
afterEach(() => {
  jest.useRealTimers();
});

describe('a test that installs fake timers before it loads the library', () => {
  it('gets answers from Redis, and a timeout if the server hangs', async () => {
    // sockets need these two
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    const { createStore } = await import('../../src/store/create-store.js');
    const lines: string[] = [];
    const note = (line: string): void => void lines.push(line);
    const namespace = uniqueNamespace();
    const options = { redis: server.url, namespace, timeoutMs: 250, coalesce: true, denyCache: true };
    const more = { maxCounters: 100, fallbackShare: 1, hashTag: undefined };
    const store = await createStore({ ...options, ...more }, new Log({ log: note, warn: note, error: note }));
    await store.open();
    const [first] = await store.consume([check(`${namespace}:60000:a`)]);
    server.process.kill('SIGSTOP');
    const [second] = await store.consume([check(`${namespace}:60000:b`)]);
    server.process.kill('SIGCONT');
    expect([first?.source, second?.source]).toEqual(['store', 'memory']);
    jest.useRealTimers();
    await store.close();
    expect(lines).toEqual([]);
  });
});
