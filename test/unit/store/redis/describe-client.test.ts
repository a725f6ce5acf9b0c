import { Cluster, Redis } from 'ioredis';
import { describeClient } from '../../../../src/store/redis/describe-client.js';
import type { RedisClient } from '../../../../src/store/redis/redis-option.js';

const lazy = { lazyConnect: true };

function placeOf(client: Redis | Cluster, isPassed = false): string {
  return describeClient(client, isPassed);
}

describe('describeClient', () => {
  it.each([
    ['redis://limits.example', 'Redis at redis://limits.example:6379/0'],
    ['redis://ann:secret@limits.example:7000/3?family=4', 'Redis at redis://limits.example:7000/3'],
    ['redis://:p%40ss@limits.example/', 'Redis at redis://limits.example:6379/0'],
    ['redis://limits.example?password=secret&db=2', 'Redis at redis://limits.example:6379/2'],
    ['rediss://ann:secret@10.0.0.7', 'Redis at rediss://10.0.0.7:6379/0'],
    ['redis://[fd00::1]:7000', 'Redis at redis://[fd00::1]:7000/0'],
    ['/run/redis.sock?db=2&password=secret', 'Redis at the unix socket /run/redis.sock, database 2'],
  ])('shows %s as %s', (url, place) => {
    expect(placeOf(new Redis(url, lazy))).toBe(place);
  });

  it.each([
    [{ host: 'limits.example' }, 'Redis at redis://limits.example:6379/0'],
    [{ port: 7000, db: 3, username: 'ann', password: 'secret' }, 'Redis at redis://localhost:7000/3'],
    [{ host: '::1', tls: {} }, 'Redis at rediss://[::1]:6379/0'],
    [{ path: '/run/redis.sock' }, 'Redis at the unix socket /run/redis.sock, database 0'],
    [{ host: 'redis://ann:secret@limits.example?password=x' }, 'Redis at redis://limits.example:6379/0'],
    [{ host: 'a\nFREQ_LIMIT_STARTED: b' }, 'Redis at redis://[a\\nFREQ_LIMIT_STARTED: b]:6379/0'],
  ])('shows the options %j as %s', (options, place) => {
    expect(placeOf(new Redis({ ...options, ...lazy }))).toBe(place);
  });

  it('shows sentinels, and the name that they have for the primary', () => {
    const sentinels = [{ host: 's1' }, { host: 's2', port: 5000 }];
    const client = new Redis({ sentinels, name: 'mymaster', sentinelPassword: 'secret', ...lazy });
    expect(placeOf(client)).toBe('Redis by sentinels "mymaster" (s1:26379, s2:5000), database 0');
  });

  it.each([
    [[{ host: 'n1', port: 7000 }], 'a Redis Cluster (n1:7000)'],
    [
      [{ host: 'n1', port: 7000 }, 'rediss://ann:secret@n2', 7002],
      'a Redis Cluster of 3 nodes (n1:7000, n2:6379, 127.0.0.1:7002)',
    ],
    [
      Array.from({ length: 10 }, (_, i) => ({ host: `n${i}` })),
      'a Redis Cluster of 10 nodes (n0:6379, n1:6379, n2:6379, n3:6379, n4:6379, n5:6379, n6:6379, n7:6379, …)',
    ],
    [
      ['10.0.0.1:7000', 'ann:secret@n2:7001', '7002', 'redis://n3:secret@:'],
      'a Redis Cluster of 4 nodes (10.0.0.1:7000, n2:7001, 127.0.0.1:7002, an unknown address)',
    ],
  ])('shows the nodes of a Cluster %#', (nodes, place) => {
    expect(placeOf(new Cluster(nodes, lazy))).toBe(place);
  });

  it('says that a client was passed', () => {
    expect(placeOf(new Redis('redis://:secret@limits.example/1', lazy), true)).toBe(
      'Redis at redis://limits.example:6379/1 (the ioredis client that was passed)',
    );
  });

  it('shows no place of a client that does not say where it connects', () => {
    const client = { isCluster: false } as RedisClient;
    expect(describeClient(client, true)).toBe('Redis, database 0 (the ioredis client that was passed)');
    expect(describeClient({ ...client, isCluster: true }, false)).toBe('a Redis Cluster');
  });
});
