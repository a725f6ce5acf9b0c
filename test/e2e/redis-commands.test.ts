import type { RedisConnectionOptions } from 'nestjs-freq-limit';
import { Log } from '../../src/core/log.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { check } from '../support/check.js';
import { freePort, type Server, startServer } from '../support/server.js';
import { quiet } from '../support/subjects.js';

const PERSON = '+491711234567';

describe('a server where commands are renamed', () => {
  let server: Server;
  let store: RedisStore;
  let lines: string[];

  async function start(renamed: string, options: Partial<RedisConnectionOptions> = {}): Promise<void> {
    server = await startServer(['--rename-command', renamed, `hidden-${renamed}`]);
    lines = [];
    const note = (line: string): void => void lines.push(line);
    const redis = { port: server.port, ...options };
    store = await RedisStore.create(
      { redis, namespace: 'fl', timeoutMs: 5_000, coalesce: true, placement: undefined },
      new Log({ log: note, warn: note, error: note }),
    );
    await store.open();
  }

  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  /** The messages that callers, the log and `health()` get when a call fails. */
  async function messages(): Promise<string[]> {
    const thrown: string[] = [];
    for (let i = 0; i < 3; i++) {
      await store.consume([check(`fl:rule:60000:${PERSON}`)]).then(
        () => {
          throw new Error('it was answered');
        },
        (error: unknown) => thrown.push((error as Error).message),
      );
    }
    return [...thrown, ...lines, store.health().reason ?? 'up'];
  }

  it('names the option to set if INFO is disabled, and counts with it', async () => {
    await start('info');
    for (const text of await messages()) expect(text).toContain('set enableReadyCheck: false');
    await store.close();
    await server.stop();
    await start('info', { enableReadyCheck: false });
    expect(await store.consume([check('a')])).toMatchObject([{ allowed: true }]);
    expect(lines).toEqual([]);
  });

  it.each(['evalsha', 'incr'])(
    'names the commands to enable if %s is disabled, and shows no key',
    async (name) => {
      await start(name);
      const texts = await messages();
      for (const text of texts) {
        expect(text).toMatch(/unknown (\w+ )?command/i);
        expect(text).toContain('enable EVALSHA and EVAL, and the commands of the script');
        expect(text).not.toContain(PERSON);
        expect(text).not.toContain('rule');
      }
      // and repeats nothing
      for (const text of texts)
        expect(text.match(/Redis returned an error|renamed or disabled/g)).toHaveLength(2);
    },
  );
});

describe('an unreachable server', () => {
  it('is reported with the same message each time', async () => {
    const store = await RedisStore.create(
      {
        redis: { port: await freePort() },
        namespace: 'fl',
        timeoutMs: 5_000,
        coalesce: true,
        placement: undefined,
      },
      quiet,
    );
    await store.open();
    for (let i = 0; i < 3; i++)
      await expect(store.consume([check('a')])).rejects.toThrow(
        /^Redis cannot be reached: (?!.*(did not answer|returned an error|cannot be reached))/,
      );
    await store.close();
  });
});
