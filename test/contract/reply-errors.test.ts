import { toFailure } from '../../src/store/redis/errors.js';
import { errorText } from '../support/error-text.js';
import { plainClient } from '../support/redis.js';

const KEY = 'fl:phone:+8613800000000';

/** The error reply of Redis to a command. */
async function replyError(command: string, ...args: string[]): Promise<unknown> {
  const client = plainClient();
  const error: unknown = await client.call(command, ...args).catch((thrown: unknown) => thrown);
  await client.quit();
  return error;
}

describe('the failure made of an error reply', () => {
  it('keeps the class and message of the error, without its command', async () => {
    const error = await replyError('evalsha', 'no sha', '1', KEY);
    expect(errorText(error)).toContain(KEY);
    const { cause, message } = toFailure(error);
    expect(errorText(cause)).not.toContain('13800000000');
    expect(message).toContain('NOSCRIPT');
    expect(cause).toBeInstanceOf((error as Error).constructor);
    expect(cause).toMatchObject({ name: 'ReplyError', message: (error as Error).message });
    expect((cause as Error).stack).toContain('ReplyError');
  });

  it('leaves out the arguments that a server repeats of an unknown command', async () => {
    const error = await replyError('evalshb', 'sha', '1', KEY);
    expect(String(error)).toContain(KEY);
    const failure = toFailure(error);
    expect(errorText(failure)).not.toContain('13800000000');
    expect(failure.message).toContain('unknown command');
  });
});
