import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ScriptCall, Sender } from '../../../../src/store/redis/sender.js';
import { Deadline, TimeoutError } from '../../../../src/store/redis/deadline.js';
import { NotReadyError } from '../../../../src/store/redis/errors.js';
import type { Connection } from '../../../../src/store/redis/connection.js';
import { Script } from '../../../../src/store/redis/script.js';

/** A connection whose state the test decides. */
function make() {
  const state = { isReady: false, isReturning: true, sent: 0, watched: [] as string[] };
  let opened = (): Promise<void> => Promise.resolve();
  let wakeUp: () => void = () => undefined;
  let change = Promise.resolve();
  const renew = (): void => void (change = new Promise((resolve) => (wakeUp = resolve)));
  renew();
  const evalshaBuffer = async (): Promise<string> => {
    state.sent++;
    return `answer ${state.sent}`;
  };
  const connection = {
    client: { status: 'reconnecting', evalshaBuffer },
    open: () => opened(),
    isReady: () => state.isReady,
    isReturning: () => state.isReturning,
    changed: () => change,
    whyNotReady: () => 'the connection is not ready (status: reconnecting)',
    refusalOf: () => undefined,
    watchForSilence: (server: string) => void state.watched.push(server),
  } as unknown as Connection;
  const sender = new Sender(connection);
  const call = (changes: Partial<ScriptCall> = {}): Promise<unknown> =>
    sender.call(new Script(''), {
      keys: [],
      args: [],
      server: 'a',
      requests: 1,
      deadline: new Deadline(60_000),
      ...changes,
    });
  const become = (changes: Partial<typeof state>): void => {
    Object.assign(state, changes);
    const wake = wakeUp;
    renew();
    wake();
  };
  const openBy = (open: () => Promise<void>): void => void (opened = open);
  return { state, connection, call, become, openBy };
}

describe('a call', () => {
  it('is sent in the same turn if the connection is ready', async () => {
    const { state, call } = make();
    state.isReady = true;
    const answer = call();
    expect(state.sent).toBe(1);
    await expect(answer).resolves.toBe('answer 1');
  });

  it('waits for a reconnect in progress, and is sent once', async () => {
    const { state, call, become } = make();
    const answers = Promise.all([call(), call()]);
    await nextTurn();
    become({});
    await nextTurn();
    expect(state.sent).toBe(0);
    become({ isReady: true });
    await expect(answers).resolves.toEqual(['answer 1', 'answer 2']);
  });

  it('fails without being sent when the first reconnect has failed', async () => {
    const { state, call, become } = make();
    const answer = call();
    become({ isReturning: false });
    await expect(answer).rejects.toThrow(NotReadyError);
    expect(state.sent).toBe(0);
  });

  it('fails at once if no reconnect is in progress', async () => {
    const { state, call } = make();
    state.isReturning = false;
    await expect(call()).rejects.toThrow('the connection is not ready (status: reconnecting)');
  });

  it('waits until the connection has been opened', async () => {
    const { state, call, openBy } = make();
    let finish = (): void => undefined;
    openBy(() => new Promise((resolve) => (finish = resolve)));
    const answer = call();
    await nextTurn();
    expect(state.sent).toBe(0);
    state.isReady = true;
    finish();
    await expect(answer).resolves.toBe('answer 1');
  });

  it('times out if the connection is not opened in time', async () => {
    const { state, call, openBy } = make();
    openBy(() => new Promise(() => undefined));
    await expect(call({ deadline: new Deadline(10) })).rejects.toThrow(TimeoutError);
    expect(state.sent).toBe(0);
  });

  it('waits no longer than its deadline', async () => {
    const { state, call } = make();
    await expect(call({ deadline: new Deadline(20) })).rejects.toThrow(NotReadyError);
    expect(state.sent).toBe(0);
  });

  it('fails at once if too many requests wait already', async () => {
    const { call, become } = make();
    const first = call({ requests: 4_000 });
    const second = call({ requests: 1_000 });
    await expect(call()).rejects.toThrow(NotReadyError);
    become({ isReady: true });
    await Promise.all([first, second]);
    become({ isReady: false });
    const third = call({ requests: 5_000 });
    become({ isReady: true });
    await third;
  });

  it('fails once if the client returns no promise', async () => {
    const { state, connection, call } = make();
    state.isReady = true;
    Object.assign(connection.client, { evalshaBuffer: () => undefined });
    await expect(call({ deadline: new Deadline(10) })).rejects.toThrow(TypeError);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(state.watched).toEqual([]);
  });

  it('has its connection watched if the answer does not come in time', async () => {
    const { state, connection, call } = make();
    state.isReady = true;
    Object.assign(connection.client, { evalshaBuffer: () => new Promise(() => undefined) });
    await expect(call({ deadline: new Deadline(10), server: 'b' })).rejects.toThrow(TimeoutError);
    expect(state.watched).toEqual(['b']);
  });
});

describe('a server without the script', () => {
  const NO_SCRIPT = new Error('NOSCRIPT No matching script.');

  /** A ready connection whose client answers EVALSHA and EVAL as given, and notes the commands. */
  function makeReady(answers: { evalshaBuffer: () => unknown; evalBuffer: () => unknown }) {
    const { state, connection, call } = make();
    state.isReady = true;
    const sent: string[] = [];
    const command = (name: 'evalshaBuffer' | 'evalBuffer') => (): unknown => {
      sent.push(name);
      return answers[name]();
    };
    Object.assign(connection.client, {
      evalshaBuffer: command('evalshaBuffer'),
      evalBuffer: command('evalBuffer'),
    });
    return { state, sent, call };
  }

  it('gets the whole script, once', async () => {
    const { sent, call } = makeReady({
      evalshaBuffer: () => Promise.reject(NO_SCRIPT),
      evalBuffer: () => Promise.resolve('by evalBuffer'),
    });
    await expect(call()).resolves.toBe('by evalBuffer');
    expect(sent).toEqual(['evalshaBuffer', 'evalBuffer']);
  });

  it('fails the call if it answers the same again', async () => {
    const { sent, call } = makeReady({
      evalshaBuffer: () => Promise.reject(NO_SCRIPT),
      evalBuffer: () => Promise.reject(NO_SCRIPT),
    });
    await expect(call()).rejects.toBe(NO_SCRIPT);
    expect(sent).toEqual(['evalshaBuffer', 'evalBuffer']);
  });

  it('fails the call if the client throws', async () => {
    const thrown = new Error('from the client');
    const { call } = makeReady({
      evalshaBuffer: () => Promise.reject(NO_SCRIPT),
      evalBuffer: () => {
        throw thrown;
      },
    });
    await expect(call()).rejects.toBe(thrown);
  });

  it('has the time of the whole call for both', async () => {
    const { state, sent, call } = makeReady({
      evalshaBuffer: () => Promise.reject(NO_SCRIPT),
      evalBuffer: () => new Promise(() => undefined),
    });
    await expect(call({ deadline: new Deadline(10), server: 'b' })).rejects.toThrow(TimeoutError);
    expect(sent).toEqual(['evalshaBuffer', 'evalBuffer']);
    expect(state.watched).toEqual(['b']);
  });

  it('does not get the script after any other error, which may come after counting', async () => {
    const lost = new Error('Connection is closed.');
    const { sent, call } = makeReady({
      evalshaBuffer: () => Promise.reject(lost),
      evalBuffer: () => undefined,
    });
    await expect(call()).rejects.toBe(lost);
    expect(sent).toEqual(['evalshaBuffer']);
  });
});
