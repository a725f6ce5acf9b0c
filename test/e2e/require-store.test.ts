import { Cluster, Redis } from 'ioredis';
import { type FreqLimitOptions, isFreqLimitError } from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { startCluster, type TestCluster, until } from '../support/cluster.js';
import { captureLog } from '../support/log.js';
import { type Server, startServer, UNKNOWN_HOST } from '../support/server.js';
import { startSentinels, type TestSentinels } from '../support/sentinel.js';
import { startTlsPort, type TlsPort } from '../support/tls.js';

type RedisOption = FreqLimitOptions['redis'];

const USERS = [
  ['noeval', '-evalsha'],
  ['noincr', '-incr'],
  ['nodecr', '-decrby'],
  ['noselect', '-select'],
] as const;
/** The servers that the tests need, each with a configuration of its own. */
const servers: Record<string, Server> = {};
const clients: (Redis | Cluster)[] = [];
const log = captureLog();
let cluster: TestCluster;
let sentinels: TestSentinels;
let tls: TlsPort;

beforeAll(async () => {
  const users = USERS.flatMap(([name, right]) => [
    '--user',
    name,
    'on',
    '>secret-word',
    '~*',
    '+@all',
    right,
  ]);
  const renamed = (command: string): Promise<Server> => startServer(['--rename-command', command, '']);
  const plain = await startServer([
    '--databases',
    '2',
    ...users,
    '--user',
    'keys',
    'on',
    '>secret-word',
    '~elsewhere:*',
    '+@all',
  ]);
  servers['plain'] = plain;
  servers['closed'] = await startServer(['--requirepass', 'secret-word']);
  servers['without EVAL'] = await renamed('EVAL');
  servers['without DECRBY'] = await renamed('DECRBY');
  [cluster, sentinels, tls] = await Promise.all([
    startCluster({ primaries: 1, args: ['--cluster-announce-ip', '127.0.0.1'] }),
    startSentinels(),
    startTlsPort(plain.port),
  ]);
});
afterEach(async () => {
  await closeApps();
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(async () => {
  await tls.stop();
  await Promise.all([cluster.stop(), sentinels.stop(), ...Object.values(servers).map((one) => one.stop())]);
});

const port = (name: string): number => servers[name]?.port ?? 0;
const as = (user: string, name = 'plain') => ({ port: port(name), username: user, password: 'secret-word' });

/** The error that stops the start. */
async function startError(limits: FreqLimitOptions): Promise<Error & { readonly code: string }> {
  try {
    await startApp('express', { limits: { requireStore: true, ...limits } });
  } catch (error) {
    if (isFreqLimitError(error)) return error;
    throw error;
  }
  throw new Error('the application started');
}

describe('requireStore, for a configuration error', () => {
  it.each<[string, () => RedisOption, RegExp]>([
    [
      'a wrong password',
      () => ({ ...as('noeval'), password: 'wrong' }),
      /refused .*WRONGPASS.*\(check the user name and the password\)/,
    ],
    ['a wrong password in a URL', () => `redis://:wrong@127.0.0.1:${port('closed')}`, /WRONGPASS/],
    ['a user that does not exist', () => ({ ...as('stranger') }), /WRONGPASS/],
    [
      'no password',
      () => ({ port: port('closed') }),
      /refused .*NOAUTH Authentication required.*\(the server needs a password/,
    ],
    [
      'the right to run scripts missing',
      () => as('noeval'),
      /NOPERM.*evalsha.*\(the Redis user lacks a permission/,
    ],
    [
      'the right to a command of the script missing',
      () => as('noincr'),
      /\[INCR\] \(the Redis user lacks a permission/,
    ],
    [
      'the right to a command that only denials need missing',
      () => as('nodecr'),
      /\[DECRBY\] \(the Redis user lacks a permission/,
    ],
    ['the right to the keys missing', () => as('keys'), /NOPERM.*key.*\(the Redis user lacks a permission/i],
    [
      'the right to the database missing',
      () => ({ ...as('noselect'), db: 1 }),
      /refused .*\(.*grant \+select/,
    ],
    [
      'a database that does not exist',
      () => `redis://127.0.0.1:${port('plain')}/99`,
      /DB index is out of range \(the server does not have this database/,
    ],
    [
      'a host that does not exist',
      () => `redis://${UNKNOWN_HOST}`,
      /ENOTFOUND redis\.\.invalid \(this host name does not exist/,
    ],
    [
      'TLS against a port without it',
      () => `rediss://127.0.0.1:${port('plain')}`,
      /the port does not use TLS \(use a URL that begins with redis:/,
    ],
    [
      'no TLS against a port with it',
      () => `redis://127.0.0.1:${tls.port}`,
      /the port expects TLS \(use a URL that begins with rediss:/,
    ],
    [
      'a certificate that is not trusted',
      () => `rediss://127.0.0.1:${tls.port}`,
      /self.signed certificate \(the certificate of the server is not trusted/,
    ],
    [
      'a node of a Cluster as a server',
      () => ({ port: cluster.primaries[0]?.port }),
      /\(the server is part of a Cluster: set redis to \{ cluster/,
    ],
    [
      'a database of a node of a Cluster',
      () => ({ port: cluster.primaries[0]?.port, db: 1 }),
      /SELECT is not allowed.*\(the server is part of a Cluster|DB index is out of range/,
    ],
    [
      'a server as a Cluster',
      () => ({ cluster: [port('plain')] }),
      /cluster support disabled \(the server is not part of a Cluster/,
    ],
    [
      'a password of a Cluster that is wrong',
      () => ({ cluster: [port('closed')], options: { redisOptions: { password: 'wrong' } } }),
      /WRONGPASS/,
    ],
    [
      'TLS against the nodes of a Cluster',
      () => ({
        cluster: [{ host: '127.0.0.1', port: cluster.primaries[0]?.port }],
        options: { redisOptions: { tls: {} } },
      }),
      /the port does not use TLS/,
    ],
    ['a node that does not exist', () => ({ cluster: [`redis://${UNKNOWN_HOST}:7000`] }), /ENOTFOUND/],
    ['a replica', () => ({ port: sentinels.replica.port }), /READONLY.*\(the server is a replica/],
    [
      'a name that the sentinels do not know',
      () => ({ sentinels: sentinels.sentinels, name: 'nothing' }),
      /No such master.*\(set name to the name/,
    ],
    [
      'sentinels that do not exist',
      () => ({ sentinels: [{ host: UNKNOWN_HOST }], name: 'counters' }),
      /ENOTFOUND/,
    ],
    [
      'a server as a sentinel',
      () => ({ sentinels: [{ host: '127.0.0.1', port: port('plain') }], name: 'counters' }),
      /\(the server is not a sentinel/,
    ],
    [
      'a sentinel as a server',
      () => ({ port: sentinels.sentinels[0]?.port }),
      /A sentinel has none of these/,
    ],
    [
      'TLS for sentinels without it',
      () => ({ sentinels: sentinels.sentinels, name: sentinels.name, sentinelTLS: {} }),
      /the port does not use TLS/,
    ],
    [
      'TLS for a primary without it',
      () => ({
        sentinels: sentinels.sentinels,
        name: sentinels.name,
        tls: {},
        enableTLSForSentinelMode: true,
      }),
      /the port does not use TLS/,
    ],
    [
      'EVAL renamed',
      () => ({ port: port('without EVAL') }),
      /unknown command.*eval.*\(a command is renamed or disabled/i,
    ],
    [
      'a command of the script renamed',
      () => ({ port: port('without DECRBY') }),
      /\[DECRBY\] \(a command is renamed or disabled/,
    ],
  ])('%s stops the start, with the reason and what to do', async (_, redis, message) => {
    const error = await startError({ redis: redis() });
    expect(error.code).toBe('FREQ_LIMIT_STORE_FAILED');
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(
      /^FreqLimitModule: redis: Redis .*The application does not start, because requireStore is true\.$/,
    );
    expect(error).not.toHaveProperty('cause');
    expect(`${error.stack} ${log.text()}`).not.toMatch(/secret-word|\bwrong\b/);
    // the error says it all
    expect(log.lines).toEqual([]);
  });
});

/** Makes a client run scripts as a server without a library would. */
function withoutLibrary(client: Redis, library: string): Redis {
  return Object.assign(client, {
    evalshaBuffer: () => Promise.reject(new Error('NOSCRIPT')),
    evalBuffer: (script: string, ...rest: string[]) =>
      client.callBuffer('eval', script.replaceAll(library, `no_${library}`), ...rest),
  });
}

describe('requireStore, for a client that was passed', () => {
  const quiet = { maxRetriesPerRequest: 0, disconnectTimeout: 50, retryStrategy: () => 100 };

  function client(options: object): Redis {
    const made = new Redis({ ...quiet, ...options });
    made.on('error', () => undefined);
    clients.push(made);
    return made;
  }

  it.each<[string, () => Redis | Promise<Redis>, RegExp]>([
    [
      'a wrong password',
      () => client({ ...as('noeval'), password: 'wrong', lazyConnect: true }),
      /WRONGPASS/,
    ],
    [
      'a wrong password, after its first attempt',
      async () => {
        const made = client({ ...as('noeval'), password: 'wrong' });
        await until(() => made.status === 'reconnecting');
        return made;
      },
      /WRONGPASS/,
    ],
    ['a host that does not exist', () => client({ host: UNKNOWN_HOST }), /ENOTFOUND/],
    ['no TLS against a port with it', () => client({ port: tls.port }), /the port expects TLS/],
    [
      'a database that does not exist, on a client that is ready',
      async () => {
        const made = client({ port: port('plain'), db: 99 });
        await until(() => made.status === 'ready');
        return made;
      },
      /DB index is out of range/,
    ],
    [
      'a missing right, on a client that is ready',
      async () => {
        const made = client(as('noincr'));
        await until(() => made.status === 'ready');
        return made;
      },
      /\[INCR\]/,
    ],
  ])('%s stops the start, and the client is not closed', async (_, make, message) => {
    const made = await make();
    const error = await startError({ redis: made });
    expect(error.message).toMatch(message);
    expect(made.status).not.toBe('end');
    // nothing of the limiter stays on it
    expect(made.listenerCount('connecting')).toBe(0);
    expect(made.listenerCount('error')).toBe(1);
  });

  it.each(['cjson', 'cmsgpack', 'struct'])(
    'a server without the Lua library %s stops the start',
    async (library) => {
      const made = withoutLibrary(client({ port: port('plain') }), library);
      const error = await startError({ redis: made });
      expect(error.message).toMatch(
        new RegExp(
          `'no_${library}'.*\\(the server's Lua lacks what the scripts need: .*cjson, cmsgpack and struct`,
        ),
      );
    },
  );

  it('a server as a Cluster stops the start', async () => {
    const made = new Cluster([port('plain')], {
      retryDelayOnFailover: 0,
      redisOptions: { disconnectTimeout: 50 },
    });
    made.on('error', () => undefined);
    clients.push(made);
    expect((await startError({ redis: made })).message).toContain('cluster support disabled');
  });
});
