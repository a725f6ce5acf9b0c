import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import { toFailure } from '../../../../src/store/redis/errors.js';
import { withoutCommand } from '../../../../src/store/redis/without-command.js';
import { plainClient } from '../../../support/redis.js';

const KEY = 'fl:phone:+8613800000000';

/** Everything that an error reporter could find in an error. */
function allOf(error: unknown, seen = new Set<unknown>()): string {
  if (typeof error !== 'object' || error === null || seen.has(error)) return String(error);
  seen.add(error);
  const own = Object.getOwnPropertyNames(error).map((name) =>
    allOf((error as Record<string, unknown>)[name], seen),
  );
  return [inspect(error, { depth: 9, showHidden: true }), ...own].join('\n');
}

function withCommand<T extends Error>(error: T): T {
  return Object.assign(error, { command: { name: 'evalsha', args: ['sha', '1', KEY] } });
}

describe('an error without its command', () => {
  it('keeps the class and message of an error of the server', async () => {
    const client = plainClient();
    const error: unknown = await client
      .call('evalsha', 'no sha', '1', KEY)
      .catch((thrown: unknown) => thrown);
    await client.quit();
    expect(allOf(error)).toContain(KEY);
    const { cause, message } = toFailure(error);
    expect(allOf(cause)).not.toContain('13800000000');
    expect(message).toContain('NOSCRIPT');
    expect(cause).toBeInstanceOf((error as Error).constructor);
    expect(cause).toMatchObject({ name: 'ReplyError', message: (error as Error).message });
    expect((cause as Error).stack).toContain('ReplyError');
  });

  it('has no arguments that a server repeats for an unknown command', async () => {
    const client = plainClient();
    const error: unknown = await client.call('evalshb', 'sha', '1', KEY).catch((thrown: unknown) => thrown);
    await client.quit();
    expect(String(error)).toContain(KEY);
    const failure = toFailure(error);
    expect(allOf(failure)).not.toContain('13800000000');
    expect(failure.message).toContain('unknown command');
  });

  it('has no arguments of a command that a lost connection has not answered', async () => {
    const client = new Redis({
      host: '127.0.0.1',
      port: 1,
      lazyConnect: true,
      retryStrategy: () => null,
      disconnectTimeout: 1,
    });
    client.on('error', () => undefined);
    const error: unknown = await client.get(KEY).catch((thrown: unknown) => thrown);
    client.disconnect();
    expect(error).toBeInstanceOf(Error);
    expect(allOf(toFailure(error))).not.toContain('13800000000');
  });

  it.each([
    ['cause', () => new Error('outer', { cause: withCommand(new Error('inner')) })],
    [
      'last error of a Cluster',
      () => Object.assign(new Error('outer'), { lastNodeError: withCommand(new Error('inner')) }),
    ],
    ['list of errors', () => new AggregateError([withCommand(new Error('inner'))], 'outer')],
    [
      'cause of a cause',
      () => new Error('outer', { cause: new Error('inner', { cause: withCommand(new Error('x')) }) }),
    ],
  ])('keeps the %s, without its command', (_, make) => {
    const error = withCommand(make());
    expect(allOf(error)).toContain(KEY);
    const text = allOf(withoutCommand(error));
    expect(text).not.toContain('13800000000');
    expect(text).toContain('outer');
    expect(text).toContain('inner');
  });

  it('keeps the properties that identify the kind of failure', () => {
    const refused = Object.assign(new Error('connect'), {
      code: 'ECONNREFUSED',
      port: 6379,
      extra: { key: KEY },
    });
    expect(withoutCommand(refused)).toMatchObject({ code: 'ECONNREFUSED', port: 6379, message: 'connect' });
    expect(allOf(withoutCommand(refused))).not.toContain('13800000000');
    expect(refused.extra.key).toBe(KEY);
  });

  it.each([['a string'], [undefined], [5]])('is the value itself if %s was thrown', (thrown) => {
    expect(withoutCommand(thrown)).toBe(thrown);
  });

  it('is undefined for an object that is not an error', () => {
    expect(withoutCommand({ key: KEY })).toBeUndefined();
  });

  it('handles an error that is its own cause', () => {
    const error = withCommand(new Error('outer'));
    error.cause = error;
    expect(allOf(withoutCommand(error))).not.toContain('13800000000');
  });
});
