import { serverBinary, startServer, versionOf } from './server.ts';

/** The Redis that all suites share, and its origin. */
export interface TestRedis {
  readonly url: string;
  readonly from: string;
  stop(): Promise<void>;
}

/** REDIS_URL, else the program of REDIS_SERVER, else Docker, else a server on the PATH; TEST_REDIS=docker|binary forces one. */
export async function startTestRedis(): Promise<TestRedis> {
  const given = process.env['REDIS_URL'];
  if (given !== undefined && given !== '')
    return { url: given, from: 'REDIS_URL', stop: () => Promise.resolve() };
  const hasProgram = (process.env['REDIS_SERVER'] ?? '') !== '';
  const wish = hasProgram ? 'binary' : process.env['TEST_REDIS'];
  const tried: string[] = [];
  for (const [name, start] of [
    ['docker', startContainer],
    ['binary', startBinary],
  ] as const) {
    if (wish !== undefined && wish !== '' && wish !== name) continue;
    try {
      return await start();
    } catch (error) {
      tried.push(`${name}: ${(error as Error).message}`);
    }
  }
  throw new Error(
    `No Redis for the tests. Set REDIS_URL, start Docker, or install redis-server.\n${tried.join('\n')}`,
  );
}

async function startBinary(): Promise<TestRedis> {
  const server = await startServer();
  const version = versionOf(serverBinary()) ?? 'of an unknown version';
  return {
    url: server.url,
    from: `an own server, port ${server.port}, ${version}`,
    stop: () => server.stop(),
  };
}

async function startContainer(): Promise<TestRedis> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const image = process.env['TEST_REDIS_IMAGE'] ?? 'redis:8-alpine';
  const container = await new GenericContainer(image)
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .start();
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    from: `Docker, ${image}`,
    stop: async () => {
      await container.stop();
    },
  };
}
