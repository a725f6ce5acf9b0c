import { withHint, describeError } from '../../../../src/store/redis/error-hints.js';

describe('withHint', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", 'raise maxmemory'],
    ["NOPERM this user has no permissions to run the 'evalsha' command", 'the Redis user lacks a permission'],
    [
      "ERR This user has no permissions to run the 'evalsha' command. The user can't run this command",
      'the Redis user lacks a permission',
    ],
    ['NOAUTH Authentication required.', 'check the user name and the password'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'check the user name and the password'],
    ['ERR invalid password', 'check the user name and the password'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'choose another namespace'],
    ['ERR value is not an integer or out of range', 'choose another namespace'],
    ['ERR increment or decrement would overflow', 'choose another namespace'],
    ["READONLY You can't write against a read only replica.", 'connect to the primary'],
    ['LOADING Redis is loading the dataset in memory', 'still loading its data'],
    ['BUSY Redis is busy running a script.', "another client's script"],
    ['MISCONF Redis is configured to save RDB snapshots', 'accepts no writes'],
    ['NOREPLICAS Not enough good replicas to write.', 'has too few replicas'],
    ['CLUSTERDOWN Hash slot not served', 'a part of the cluster is down'],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'set redis to { cluster: [nodes] }'],
    ['MOVED 3999 127.0.0.1:6381', 'set redis to { cluster: [nodes] }'],
    ['ERR SELECT is not allowed in cluster mode', 'set redis to { cluster: [nodes] }'],
    ["NOPERM this user has no permissions to run the 'select' command", 'grant +select to the Redis user'],
    ['ERR DB index is out of range', 'the server does not have this database'],
    ["ERR unknown command 'INFO'", 'enableReadyCheck: false'],
    ['Ready check failed: ERR unknown command `info`', 'enableReadyCheck: false'],
    ["ERR unknown command 'select'", 'SELECT is renamed or disabled'],
    ["ERR unknown command 'evalsha'", 'enable EVALSHA and EVAL'],
    ['ERR Unknown Redis command called from script script: 1f2', 'enable EVALSHA and EVAL'],
    ['timed out', 'timeoutMs is too short'],
  ])('adds what to do about %s', (message, advice) => {
    expect(withHint(message).startsWith(`${message} (`)).toBe(true);
    expect(withHint(message)).toContain(advice);
    expect(withHint(message)).not.toContain('\n');
  });

  it.each([
    ['connect ECONNREFUSED 127.0.0.1:6379'],
    ['the connection is not ready (status: connecting)'],
    [''],
  ])('adds nothing to other messages: %p', (message) => {
    expect(withHint(message)).toBe(message);
  });
});

describe('the line for an error', () => {
  const key = 'fl:SmsController.send:60000:+491711234567';
  const args = ['4ab1f1', '1', key, '60000'];
  /** An error of ioredis, which contains the command. */
  const refused = (message: string): Error =>
    Object.assign(new Error(message), { command: { name: 'evalsha', args } });

  it.each([
    [`ERR unknown command 'evalsha', with args beginning with: '4ab1f1' '1' '${key}' `],
    [`ERR unknown command \`evalsha\`, with args beginning with: \`4ab1f1\`, \`1\`, \`${key.slice(0, 40)}`],
    [`ERR unknown command 'evalsha', with args beginning with: '\n${key}'`],
    [`NOPERM User limiter has no permissions to access the '${key}' key`],
    [`${'x'.repeat(100)} ${key}`],
  ])('never shows an argument of a command: %j', (message) => {
    const text = describeError(refused(message));
    expect(text).not.toMatch(/4917|SmsController|with args/);
    expect(text.slice(0, 20)).toBe(message.slice(0, 20));
  });

  it('does not change other errors', () => {
    expect(describeError(refused('ERR syntax error 1'))).toBe('ERR syntax error 1');
    expect(describeError(new Error('connect ECONNREFUSED 127.0.0.1:6379'))).toBe(
      'connect ECONNREFUSED 127.0.0.1:6379',
    );
    expect(describeError(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))).toBe(
      'ECONNREFUSED',
    );
    expect(describeError('broken')).toBe('"broken"');
    expect(describeError(Object.assign(new Error('odd'), { command: { args: 5 } }))).toBe('odd');
  });
});
