import { jest } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Deadline } from '../../../../src/store/redis/deadline.js';

const withDeadline = <T>(answer: Promise<T>, ms: number): Promise<T> => new Deadline(ms).wait(answer);
const never = (): Promise<never> => new Promise(() => undefined);

describe('a deadline', () => {
  it('answers what was answered', async () => {
    await expect(withDeadline(Promise.resolve(5), 1_000)).resolves.toBe(5);
    await expect(withDeadline(sleep(5, 'late, but not too late'), 10_000)).resolves.toBe(
      'late, but not too late',
    );
  });

  it('fails with what the answer failed with, and nothing else', async () => {
    const error = new Error('READONLY');
    await expect(withDeadline(Promise.reject(error), 1_000)).rejects.toBe(error);
  });

  it('fails when the answer does not come in time', async () => {
    const started = performance.now();
    await expect(withDeadline(never(), 20)).rejects.toThrow('no answer in time');
    expect(performance.now() - started).toBeGreaterThanOrEqual(19);
  });

  it('does not mind what comes of an answer that was too late', async () => {
    let fail: (error: Error) => void = () => undefined;
    const late = new Promise((_, reject) => (fail = reject));
    await expect(withDeadline(late, 1)).rejects.toThrow('no answer in time');
    fail(new Error('far too late'));
    // an unhandled rejection would fail this file
    await sleep(5);
    await expect(late).rejects.toThrow('far too late');
  });

  it('leaves no timer behind that the process would wait for', async () => {
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    await withDeadline(Promise.resolve(), 600_000);
    await withDeadline(Promise.reject(new Error('refused')), 600_000).catch(() => undefined);
    const end = performance.now() + 10_000;
    while (timers() > before && performance.now() < end) await nextTurn();
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('keeps time by the real clock under fake timers', async () => {
    jest.useFakeTimers();
    try {
      await expect(withDeadline(never(), 5)).rejects.toThrow('no answer in time');
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('while the process itself is busy', () => {
  let near: Socket;
  let far: Socket;

  beforeEach(async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    near = connect((server.address() as { port: number }).port, '127.0.0.1');
    [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'connect')])) as [[Socket], unknown];
    server.close();
  });
  afterEach(() => {
    near.destroy();
    far.destroy();
  });

  const block = (ms: number): void => {
    const until = performance.now() + ms;
    while (performance.now() < until);
  };
  /** As a client makes it: several promises lie between the socket and who waits. */
  const answerOf = async (socket: Socket): Promise<string> => {
    const [data] = (await once(socket, 'data')) as [Buffer];
    return await Promise.resolve(String(data)).then((text) => text.trim());
  };

  it.each([1, 20])('takes an answer that is there before a timer of %i ms that is due', async (ms) => {
    const answer = withDeadline(answerOf(near), ms);
    // a write on a loopback socket is in the other's buffer before it returns
    far.write('+OK\r\n');
    block(ms + 60);
    await expect(answer).resolves.toBe('+OK');
  });

  it('does so for all that wait, from whatever turn it was busy in', async () => {
    for (const turn of ['timer', 'immediate', 'socket'] as const) {
      const answers = Promise.all([
        withDeadline(answerOf(near), 10),
        withDeadline(answerOf(near), 15),
        withDeadline(answerOf(near), 20),
      ]);
      const busy = (): void => {
        far.write('+OK\r\n');
        block(80);
      };
      if (turn === 'timer') setTimeout(busy, 1);
      else if (turn === 'immediate') setImmediate(busy);
      else {
        far.once('data', busy);
        near.write('?');
      }
      await expect(answers).resolves.toEqual(['+OK', '+OK', '+OK']);
    }
  });

  it('still fails when nothing is there', async () => {
    const answer = withDeadline(answerOf(near), 5);
    block(60);
    await expect(answer).rejects.toThrow('no answer in time');
  });

  it('does not count time in which the process was blocked, however often that happens', async () => {
    const started = performance.now();
    let blockedMs = 0;
    const busy = setInterval(() => {
      block(60);
      blockedMs += 60;
    }, 1);
    await expect(withDeadline(never(), 100)).rejects.toThrow('no answer in time');
    clearInterval(busy);
    // each standstill counts as a short gap of 25 ms
    expect(blockedMs).toBeGreaterThanOrEqual(4 * 60);
    expect(performance.now() - started).toBeGreaterThanOrEqual(blockedMs);
  });

  it('takes an answer of several steps, each of which needs a turn of the event loop', async () => {
    const steps = async (): Promise<string> => {
      for (let i = 0; i < 5; i++) {
        near.write('?');
        await once(far, 'data');
        far.write('+OK\r\n');
        await once(near, 'data');
      }
      return 'done';
    };
    const busy = setInterval(() => {
      block(80);
    }, 1);
    await expect(withDeadline(steps(), 300)).resolves.toBe('done');
    clearInterval(busy);
  });

  it('shares one limit among the waits of a call', async () => {
    const deadline = new Deadline(60);
    await expect(deadline.wait(sleep(30, 'first'))).resolves.toBe('first');
    const started = performance.now();
    await expect(deadline.wait(never())).rejects.toThrow('no answer in time');
    expect(performance.now() - started).toBeLessThan(1_000);
    await expect(deadline.wait(never())).rejects.toThrow('no answer in time');
  });
});
