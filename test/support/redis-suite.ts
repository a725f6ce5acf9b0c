import { jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { closeApps } from './app.js';
import { plainClient, sweep, uniqueNamespace } from './redis.js';

/** What the tests of a suite on the shared Redis work with. */
export interface RedisSuite {
  /** A plain client that looks over the limiter's shoulder. */
  readonly client: Redis;
  /** A namespace that is the running test's own. */
  readonly namespace: string;
}

/** Gives each test of a file a namespace of its own; after it, applications are closed and every counter is looked at. */
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
