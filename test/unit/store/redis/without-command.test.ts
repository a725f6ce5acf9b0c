import { Redis } from 'ioredis';
import { toFailure } from '../../../../src/store/redis/errors.js';
import { withoutCommand } from '../../../../src/store/redis/without-command.js';
import { errorText } from '../../../support/error-text.js';

const KEY = 'fl:phone:+8613800000000';

function withCommand<T extends Error>(error: T): T {
  return Object.assign(error, { command: { name: 'evalsha', args: ['sha', '1', KEY] } });
}

describe('an error without its command', () => {
  it('is what a lost connection left unanswered', async () => {
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
    expect(errorText(toFailure(error))).not.toContain('13800000000');
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
  ])('keeps the %s, without the command of that', (_, make) => {
    const error = withCommand(make());
    expect(errorText(error)).toContain(KEY);
    const text = errorText(withoutCommand(error));
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
    expect(errorText(withoutCommand(refused))).not.toContain('13800000000');
    expect(refused.extra.key).toBe(KEY);
  });

  it.each([['a text'], [undefined], [5]])('is %s, if that was thrown', (thrown) => {
    expect(withoutCommand(thrown)).toBe(thrown);
  });

  it('is nothing of an object that is not an error', () => {
    expect(withoutCommand({ key: KEY })).toBeUndefined();
  });

  it('ends in a circle', () => {
    const error = withCommand(new Error('outer'));
    error.cause = error;
    expect(errorText(withoutCommand(error))).not.toContain('13800000000');
  });
});
