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
    [
      "ERR user_script:48: Script attempted to access nonexistent global variable 'cmsgpack'",
      'the Lua libraries cjson, cmsgpack and struct',
    ],
    [
      "ERR Error running script: user_script:71: attempt to index global 'struct' (a nil value)",
      'the Lua libraries cjson, cmsgpack and struct',
    ],
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
    ["ERR unknown command 'AUTH'", 'leave username and password out'],
    ["ERR unknown command 'sentinel'", 'the server is not a sentinel'],
    ['ERR No such master with that name', 'sentinel monitor <name>'],
    [
      'the sentinels do not name the primary: WRONGPASS invalid',
      'check sentinelUsername and sentinelPassword',
    ],
    ['the sentinels do not name the primary: NOAUTH Authentication required.', 'check sentinelUsername'],
    ['ERR invalid DB index', 'the server does not have this database'],
    ['DENIED Redis is running in protected mode because', 'set a password on the server'],
    ['ERR max number of clients reached', 'raise maxclients'],
    ['ERR This instance has cluster support disabled', 'the server is not part of a Cluster'],
    ['Too many Cluster redirections. Last error: ReplyError: MOVED 1 a:1', 'slots are moving'],
    ['Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN', 'a part of the cluster is down'],
    ["Cluster isn't ready and enableOfflineQueue options is false", 'see CLUSTER SLOTS'],
    ['getaddrinfo ENOTFOUND redis', 'this host name does not exist'],
    ['getaddrinfo EAI_AGAIN redis', 'the DNS of this machine does not answer'],
    ['connect EACCES /run/redis.sock', 'may not open the unix socket'],
    ['the port expects TLS', 'rediss://'],
    ['the port does not use TLS', 'redis://, without tls'],
    ['SSL routines:ssl3_get_record:wrong version number', 'redis://, without tls'],
    ['self-signed certificate', 'set tls: { ca }'],
    ['unable to verify the first certificate', 'set tls: { ca }'],
    ["Hostname/IP does not match certificate's altnames: IP: 10.0.0.1", 'servername'],
    ['Protocol error, got "H" as reply type byte', 'does not speak the protocol of Redis'],
    ['Unknown RESP type 72 "H". Please report this.', 'does not speak the protocol of Redis'],
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
