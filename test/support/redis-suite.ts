import { jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { closeApps } from './app.js';
import { plainClient, sweep, uniqueNamespace } from './redis.js';

/** The context of a suite on the shared Redis. */
export interface RedisSuite {
  /** A plain client, to inspect the keys of the library. */
  readonly client: Redis;
  /** The namespace of the running test. */
  readonly namespace: string;
}

/** Gives each test of a file its own namespace; closes the applications and checks every counter after each test. */
export function redisSuite(): RedisSuite {
  const suite = { client: undefined as unknown as Redis, namespace: '' };
  beforeAll(() => {
    suite.client = plainClient();
  });
  beforeEach(() => {
    suite.namespace = uniqueNamespace();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await closeApps();
    expect(await sweep(suite.client, suite.namespace)).toEqual([]);
  });
  afterAll(() => suite.client.quit());
  return suite;
}
