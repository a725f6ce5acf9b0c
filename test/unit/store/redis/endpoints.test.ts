import { Cluster, Redis } from 'ioredis';
import { endpointsOf } from '../../../../src/store/redis/endpoints.js';

const lazy = { lazyConnect: true } as const;
const at = (host: string, port: number, usesTls = false) => ({
  host,
  port,
  family: 0,
  path: undefined,
  usesTls,
});

describe('where a client connects to', () => {
  it.each<[string, object, object[]]>([
    ['the default', new Redis(lazy), [at('localhost', 6_379)]],
    ['a server', new Redis({ host: 'a', port: 1, family: 6, ...lazy }), [{ ...at('a', 1), family: 6 }]],
    ['a server with TLS', new Redis('rediss://a:1', lazy), [at('a', 1, true)]],
    ['a unix socket', new Redis('/tmp/a.sock', lazy), [{ ...at('localhost', 6_379), path: '/tmp/a.sock' }]],
    [
      'sentinels',
      new Redis({ sentinels: [{ host: 'a' }, { host: 'b', port: 2 }], name: 'p', sentinelTLS: {}, ...lazy }),
      [at('a', 26_379, true), at('b', 2, true)],
    ],
    [
      'a Cluster',
      new Cluster(['redis://a:1', 2, { host: 'b', port: 3 }, 'redis://[::1]:4', 'c:5'], lazy),
      [at('a', 1), at('127.0.0.1', 2), at('b', 3), at('::1', 4), at('c', 5)],
    ],
    ['a Cluster with a node that cannot be read', new Cluster(['redis://a:b'], lazy), []],
    [
      'a Cluster with TLS',
      new Cluster([{ host: 'a', port: 1 }], { redisOptions: { tls: {} }, ...lazy }),
      [at('a', 1, true)],
    ],
    ['a Cluster with SRV records', new Cluster([{ host: 'a' }], { useSRVRecords: true, ...lazy }), []],
    ['a client of another library', { isCluster: false }, [at('localhost', 6_379)]],
  ])('is known for %s', (_, client, expected) => {
    expect(endpointsOf(client)).toEqual(expected);
  });

  it('includes the primary that the sentinels have named', () => {
    const options = {
      sentinels: [{ host: 'a', port: 1 }],
      name: 'p',
      tls: {},
      enableTLSForSentinelMode: true,
    };
    const stream = { remoteAddress: '10.0.0.1', remotePort: 6_380 };
    expect(endpointsOf({ isCluster: false, options, stream })).toEqual([
      at('10.0.0.1', 6_380, true),
      at('a', 1),
    ]);
  });

  it('is not known for a custom connector', () => {
    expect(endpointsOf({ isCluster: false, options: { Connector: class {} } })).toEqual([]);
  });
});
