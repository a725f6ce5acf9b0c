import { Cluster, Redis } from 'ioredis';
import { isClient, isClustered } from '../../../../src/store/redis/redis-option.js';

const method = async (): Promise<unknown> => undefined;
const CLIENT = { status: 'ready', isCluster: false, evalshaBuffer: method, evalBuffer: method, del: method };

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
  it('is true for each client of ioredis', () => {
    expect(isClient(new Redis({ lazyConnect: true }))).toBe(true);
    expect(isClient(new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true }))).toBe(true);
  });

  it.each<[unknown, boolean]>([
    [CLIENT, true],
    [{ ...CLIENT, evalshaBuffer: undefined }, false],
    [{ ...CLIENT, evalBuffer: undefined }, false],
    [{ ...CLIENT, del: undefined }, false],
    [{ host: 'localhost' }, false],
    ['redis://localhost', false],
    [null, false],
    [undefined, false],
    [5, false],
  ])('of %p is %p', (redis, answer) => {
    expect(isClient(redis)).toBe(answer);
  });
});
