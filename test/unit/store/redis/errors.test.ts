import { connectionProblem, errorKindOf, ReplyError, toFailure } from '../../../../src/store/redis/errors.js';
import { UnexpectedReplyError } from '../../../../src/store/redis/reply-values.js';

describe('the error of the store', () => {
  it.each([
    [Object.assign(new Error('READONLY'), { name: 'ReplyError' }), 'Redis returned an error: READONLY'],
    [new UnexpectedReplyError(), 'Redis returned an unexpected reply: it is not a reply of the script'],
    [new Error('socket closed'), 'Redis did not answer: socket closed'],
  ])('says what happened for %s', (error, message) => {
    expect(toFailure(error)).toMatchObject({ code: 'FREQ_LIMIT_STORE_FAILED' });
    expect(toFailure(error).message).toContain(message);
  });
});

/** An error of ioredis, which has the command. */
const refused = (command: string, message: string): Error =>
  Object.assign(new ReplyError(message), { command: { name: command, args: [] } });

describe('the kind of an error', () => {
  it.each<[unknown, string | undefined]>([
    [new ReplyError('WRONGPASS invalid username-password pair'), 'refused'],
    [new Error('Ready check failed: NOAUTH Authentication required.'), 'refused'],
    [new ReplyError('NOPERM this user has no permissions'), 'refused'],
    [new ReplyError("ERR unknown command 'eval'"), 'refused'],
    [new ReplyError('ERR DB index is out of range'), 'refused'],
    [refused('auth', 'ERR of a later version'), 'refused'],
    [refused('select', 'ERR SELECT is not allowed in cluster mode'), 'refused'],
    [new ReplyError('MOVED 5 10.0.0.1:6379'), 'misdirected'],
    [new ReplyError('READONLY You cannot write against a read only replica.'), 'misdirected'],
    [new Error('getaddrinfo ENOTFOUND redis'), 'misdirected'],
    [new Error('the port expects TLS'), 'misdirected'],
    [new Error('self-signed certificate'), 'misdirected'],
    // each may pass by itself
    [new ReplyError('LOADING Redis is loading the dataset in memory'), 'outage'],
    [refused('select', 'BUSY Redis is busy running a script'), 'outage'],
    [new ReplyError('OOM command not allowed'), 'outage'],
    [new ReplyError('MISCONF Redis is configured to save'), 'outage'],
    [new ReplyError('NOREPLICAS Not enough good replicas'), 'outage'],
    [new ReplyError('CLUSTERDOWN Hash slot not served'), 'outage'],
    [new ReplyError('ERR max number of clients reached'), 'outage'],
    [new Error('getaddrinfo EAI_AGAIN redis'), 'outage'],
    [new Error('timed out'), 'outage'],
    [new ReplyError('MASTERDOWN Link with MASTER is down'), undefined],
    [new Error('connect ECONNREFUSED 127.0.0.1:6379'), undefined],
    [new Error('connect ETIMEDOUT'), undefined],
    [new Error('read ECONNRESET'), undefined],
    [undefined, undefined],
  ])('of %s is %s', (error, kind) => {
    expect(errorKindOf(error)).toBe(kind);
  });
});

describe('the problem of a connection', () => {
  it.each<[unknown, string]>([
    [
      refused('auth', 'WRONGPASS x'),
      'Redis refused the connection: WRONGPASS x (check the user name and the password)',
    ],
    [new Error('connect ECONNREFUSED'), 'Redis cannot be reached: connect ECONNREFUSED'],
    [undefined, 'Redis cannot be reached: the server does not answer'],
  ])('of %s is described', (error, problem) => {
    expect(connectionProblem(error)).toBe(problem);
  });

  it('has one text for a missing password, whatever the command was', () => {
    const hello = new ReplyError(
      'NOAUTH HELLO must be called with the client already authenticated, otherwise …',
    );
    expect(connectionProblem(hello)).toBe(
      connectionProblem(new ReplyError('NOAUTH Authentication required.')),
    );
  });
});
