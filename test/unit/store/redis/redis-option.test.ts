import { Cluster, Redis } from 'ioredis';
import { isClient, isClustered } from '../../../../src/store/redis/redis-option.js';

const method = async (): Promise<unknown> => undefined;
const CLIENT = { status: 'ready', isCluster: false, evalsha: method, eval: method, del: method };

describe('isClustered', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  const client = new Redis({ lazyConnect: true });

  it.each<[string, boolean, Parameters<typeof isClustered>[0]]>([
    ['nodes', true, { cluster: [7_000] }],
    ['a Cluster client', true, cluster],
    ['a Cluster client of another copy', true, { ...CLIENT, isCluster: true }],
    ['a client of one server', false, client],
    ['a client of another copy', false, CLIENT],
    ['options', false, { host: 'localhost' }],
    ['a URL', false, 'redis://localhost'],
    ['nothing', false, undefined],
  ])('of %s is %p', (_, answer, redis) => {
    expect(isClustered(redis)).toBe(answer);
  });
});

describe('isClient', () => {
  it.each<[unknown, boolean]>([
    [CLIENT, true],
    [{ host: 'localhost' }, false],
    ['redis://localhost', false],
    [null, false],
    [undefined, false],
    [5, false],
  ])('of %p is %p', (redis, answer) => {
    expect(isClient(redis)).toBe(answer);
  });
});
