import { advised } from '../../../../src/store/redis/advice.js';

describe('advised', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", 'raise maxmemory'],
    ["NOPERM this user has no permissions to run the 'evalsha' command", 'lacks a permission'],
    [
      "ERR This user has no permissions to run the 'evalsha' command. The user can't run this command",
      'lacks a permission',
    ],
    ['NOAUTH Authentication required.', 'check the user and the password'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'check the user and the password'],
    ['ERR invalid password', 'check the user and the password'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'choose another namespace'],
    ['ERR value is not an integer or out of range', 'choose another namespace'],
    ['ERR increment or decrement would overflow', 'choose another namespace'],
    ["READONLY You can't write against a read only replica.", 'name the primary'],
    ['LOADING Redis is loading the dataset in memory', 'still reading its data'],
    ['BUSY Redis is busy running a script.', "another client's script"],
    ['MISCONF Redis is configured to save RDB snapshots', 'takes no writes'],
    ['NOREPLICAS Not enough good replicas to write.', 'too few replicas'],
    ['CLUSTERDOWN Hash slot not served', 'a part of the cluster is down'],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'give { cluster: [nodes] }'],
    ['MOVED 3999 127.0.0.1:6381', 'give { cluster: [nodes] }'],
    ['no answer in time', 'timeoutMs is too short'],
  ])('says what to do about %s', (message, advice) => {
    expect(advised(message).startsWith(`${message} (`)).toBe(true);
    expect(advised(message)).toContain(advice);
    expect(advised(message)).not.toContain('\n');
  });

  it.each([['connect ECONNREFUSED 127.0.0.1:6379'], ['the connection is not ready, but connecting'], ['']])(
    'leaves as it is what it knows nothing about: %p',
    (message) => {
      expect(advised(message)).toBe(message);
    },
  );
});
