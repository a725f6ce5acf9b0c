import { EventEmitter } from 'node:events';
import { ConnectionErrors } from '../../../../src/store/redis/connection-errors.js';

function make() {
  const client = new EventEmitter();
  const errors = new ConnectionErrors(client);
  const fail = (...messages: string[]): void => {
    client.emit('connecting');
    for (const message of messages) client.emit('error', new Error(message));
  };
  const last = (): unknown => (errors.last as Error | undefined)?.message;
  return { client, errors, fail, last };
}

describe('the last error of a connection', () => {
  it('is the one that says most of the last attempt', () => {
    const { fail, last } = make();
    expect(last()).toBeUndefined();
    fail(
      'WRONGPASS',
      'Connection is closed.',
      "Stream isn't writeable and enableOfflineQueue options is false",
    );
    expect(last()).toBe('WRONGPASS');
    fail('connect ECONNREFUSED 127.0.0.1:6379');
    expect(last()).toBe('connect ECONNREFUSED 127.0.0.1:6379');
    fail('Connection is closed.');
    expect(last()).toBe('Connection is closed.');
  });

  it('is vague if it only says that there is no connection', () => {
    const { errors, fail } = make();
    expect(errors.isVague).toBe(true);
    for (const message of [
      'Connection is closed.',
      'read ECONNRESET',
      'timeout',
      'the server sent nothing for 5 ms',
    ]) {
      fail(message);
      expect([message, errors.isVague]).toEqual([message, true]);
    }
    fail('connect ECONNREFUSED');
    expect(errors.isVague).toBe(false);
  });

  it('is explained while it is vague, until the connection is ready', () => {
    const { errors, fail, last } = make();
    errors.explain(new Error('the port expects TLS'));
    fail('read ECONNRESET');
    expect([last(), errors.isVague]).toEqual(['the port expects TLS', false]);
    fail('WRONGPASS');
    expect(last()).toBe('WRONGPASS');
    errors.clear();
    fail('read ECONNRESET');
    expect(last()).toBe('read ECONNRESET');
  });

  it('is that of the last node of a Cluster', () => {
    const { client, last } = make();
    client.emit(
      'error',
      Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: new Error('NOAUTH') }),
    );
    expect(last()).toBe('NOAUTH');
    client.emit('connecting');
    client.emit('node error', new Error('WRONGPASS'), 'a:7000');
    client.emit(
      'error',
      Object.assign(new Error('Failed'), { lastNodeError: new Error('Connection is closed.') }),
    );
    expect(last()).toBe('WRONGPASS');
  });

  it.each([
    [
      'All sentinels are unreachable. Retrying from scratch after 10ms. Last error: WRONGPASS',
      'the sentinels do not name the primary: WRONGPASS',
    ],
    [
      'All sentinels are unreachable and retry is disabled. Last error: NOAUTH',
      'the sentinels do not name the primary: NOAUTH',
    ],
    [
      'All sentinels are unreachable. Retrying from scratch after 10ms.',
      'the sentinels do not name the primary: ERR No such master with that name',
    ],
    [
      'All sentinels are unreachable. Retrying from scratch after 10ms. Last error: Connection is closed.',
      'Connection is closed.',
    ],
  ])('is that of the last sentinel: %s', (message, expected) => {
    const { fail, last } = make();
    fail(message);
    expect(last()).toBe(expected);
  });

  it('is not followed any more when it is detached', () => {
    const { client, errors } = make();
    errors.detach();
    expect(client.eventNames()).toEqual([]);
  });
});
