import { EventEmitter } from 'node:events';
import { whyNotReady } from '../../../../src/store/redis/connection.js';
import { ReturningLink } from '../../../../src/store/redis/returning-link.js';

function make() {
  const stream = { writable: true };
  const client = Object.assign(new EventEmitter(), { status: 'ready', stream });
  const heard: string[] = [];
  const link = new ReturningLink(
    client,
    () => void heard.push('lost'),
    () => void heard.push('changed'),
  );
  const become = (status: string, event?: string): void => {
    client.status = status;
    if (event !== undefined) client.emit(event);
  };
  return { client, link, heard, become };
}

describe('a connection that was ready', () => {
  it('is returning until its first reconnect has failed', () => {
    const { link, heard, become } = make();
    become('reconnecting', 'close');
    expect([link.isReady, link.isReturning]).toEqual([false, true]);
    become('connecting');
    expect(link.isReturning).toBe(true);
    become('reconnecting', 'close');
    expect(link.isReturning).toBe(false);
    become('ready', 'ready');
    expect(link.isReady).toBe(true);
    expect(heard).toEqual(['changed', 'lost', 'changed', 'changed']);
  });

  it('is returning as soon as the server has closed it', () => {
    const { client, link } = make();
    client.stream.writable = false;
    expect([link.isReady, link.isReturning]).toEqual([false, true]);
    expect(whyNotReady(client)).toBe('the server has closed the connection');
  });

  it('is not returning after it is detached, and keeps no listener', () => {
    const { client, link, become } = make();
    become('reconnecting', 'close');
    link.detach();
    expect(link.isReturning).toBe(false);
    expect(client.eventNames()).toEqual([]);
    become('connecting');
    expect(link.isReturning).toBe(false);
  });
});
