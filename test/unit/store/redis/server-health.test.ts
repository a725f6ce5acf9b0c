import { jest } from '@jest/globals';
import fc from 'fast-check';
import { Log } from '../../../../src/core/log.js';
import type { Breaker } from '../../../../src/store/redis/breaker.js';
import { TimeoutError } from '../../../../src/store/redis/deadline.js';
import { NotReadyError, ReplyError } from '../../../../src/store/redis/errors.js';
import { ServerHealth } from '../../../../src/store/redis/server-health.js';
import { THE_SERVER } from '../../../../src/store/redis/servers.js';

const DOWN =
  'error: FREQ_LIMIT_STORE_UNAVAILABLE: Redis is unavailable; applying onStoreError until it recovers: ';
const UP = 'warn: FREQ_LIMIT_STORE_RECOVERED: Redis is available again after ';
const UP_STATE = { store: 'redis', isUp: true, reason: undefined, since: undefined };
/** The reason that `lose` leads to. */
const lost = (name: string): string => `Redis returned an error: ERR ${name} is lost`;

beforeEach(() => {
  jest.useFakeTimers({ now: Date.UTC(2026, 0, 2, 3, 4, 5) });
});
afterEach(() => {
  jest.useRealTimers();
});

/** The cluster has the servers `a`, `b` and `c`, until one is removed. */
function make(isCluster = true) {
  const lines: string[] = [];
  const known = new Set([THE_SERVER, 'a', 'b', 'c']);
  const log = new Log({
    log: (line) => void lines.push(`info: ${line}`),
    warn: (line) => void lines.push(`warn: ${line}`),
    error: (line) => void lines.push(`error: ${line}`),
  });
  const health = new ServerHealth({ isCluster, has: (server) => known.has(server) }, log);
  const find = (server: string): void => {
    health.noteSuccess(health.breakerOf(server), true);
  };
  const lose = (server: string, name = server): void => {
    health.noteFailure(health.breakerOf(server), new ReplyError(`ERR ${name} is lost`));
  };
  return { health, lines, find, lose, remove: (server: string) => void known.delete(server) };
}

function timeOut(health: ServerHealth, breaker: Breaker, times: number): void {
  for (let i = 0; i < times; i++) health.noteFailure(breaker, new TimeoutError());
}

describe('the breakers of servers', () => {
  it('are one for each server', () => {
    const { health } = make();
    const a = health.breakerOf('a');
    expect(health.breakerOf('b')).not.toBe(a);
    expect(health.breakerOf('a')).toBe(a);
  });

  it('open independently', () => {
    const { health, lose } = make();
    lose('a');
    expect(health.breakerOf('a').admits()).toBe(false);
    expect(health.breakerOf('b').admits()).toBe(true);
    expect(health.openServers()).toEqual(['a']);
  });

  it('are all tried at once after a new connection', () => {
    const { health, lose } = make();
    for (const server of ['a', 'b']) lose(server);
    health.onReady();
    expect(['a', 'b', 'a', 'b'].map((server) => health.breakerOf(server).admits())).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(health.storeHealth().isUp).toBe(false);
  });
});

describe('a failed call', () => {
  it('opens the breaker at once if the server returned an error or is not connected, else the fifth time', () => {
    const { health } = make();
    timeOut(health, health.breakerOf('a'), 4);
    expect(health.openServers()).toEqual([]);
    timeOut(health, health.breakerOf('a'), 1);
    health.noteFailure(health.breakerOf('b'), new ReplyError('READONLY'));
    health.noteFailure(health.breakerOf('c'), new NotReadyError('connecting'));
    expect(health.openServers()).toEqual(['a', 'b', 'c']);
  });

  it('is an outage if the connection was lost, although the breaker stays closed', () => {
    const { health, lines, find } = make();
    const reason = 'Redis did not answer: Connection is closed.';
    const error = health.noteFailure(health.breakerOf('a'), new Error('Connection is closed.'));
    expect(error).toMatchObject({ code: 'FREQ_LIMIT_STORE_FAILED', message: reason });
    expect(health.storeHealth()).toEqual(UP_STATE);
    find('a');
    expect(lines).toEqual([DOWN + reason, `${UP}0.0 s: ${reason}`]);
  });

  it('does not count as answered by a peek while the breaker is open', () => {
    const { health, lose } = make();
    lose('a');
    health.noteSuccess(health.breakerOf('a'), false);
    expect(health.storeHealth().isUp).toBe(false);
    health.noteSuccess(health.breakerOf('a'), true);
    expect(health.storeHealth()).toEqual(UP_STATE);
  });
});

describe('the health', () => {
  it('is up before the first call, and while all is well', () => {
    const { health, lines, find } = make();
    expect(health.storeHealth()).toEqual(UP_STATE);
    find('a');
    timeOut(health, health.breakerOf('a'), 4);
    expect(health.storeHealth()).toEqual(UP_STATE);
    expect(lines).toEqual([]);
  });

  it('has the beginning and the reason of an outage', () => {
    const { health, find, lose } = make();
    lose('a');
    const since = new Date();
    jest.advanceTimersByTime(5_000);
    expect(health.storeHealth()).toEqual({ store: 'redis', isUp: false, reason: lost('a'), since });
    expect(health.toError()).toMatchObject({ code: 'FREQ_LIMIT_STORE_FAILED', message: lost('a') });
    find('a');
    expect(health.storeHealth()).toEqual(UP_STATE);
  });

  it('is down until the last server answers, and has the reason of the server that is longest away', () => {
    const { health, find, lose } = make();
    lose('a');
    const since = new Date();
    jest.advanceTimersByTime(2_000);
    lose('b');
    expect(health.storeHealth()).toMatchObject({ isUp: false, since, reason: lost('a') });
    find('a');
    expect(health.storeHealth()).toMatchObject({ isUp: false, since, reason: lost('b') });
    find('b');
    expect(health.storeHealth()).toEqual(UP_STATE);
  });
});

describe('the log', () => {
  it('has a line when a server is lost, and one when it answers', () => {
    const { health, lines, find } = make();
    timeOut(health, health.breakerOf('a'), 20);
    jest.advanceTimersByTime(12_340);
    find('a');
    find('a');
    const reason =
      'Redis did not answer: timed out (Redis hangs or is too slow, or timeoutMs is too short for the network)';
    expect(lines).toEqual([DOWN + reason, `${UP}12.3 s: ${reason}`]);
  });

  it('has one line when the first of several servers is lost, and one when the last answers', () => {
    const { lines, find, lose } = make();
    for (const server of ['a', 'b', 'c']) {
      lose(server);
      jest.advanceTimersByTime(1_000);
    }
    find('b');
    find('a');
    lose('a', 'a again');
    find('c');
    expect(lines).toEqual([DOWN + lost('a')]);
    find('a');
    expect(lines.slice(1)).toEqual([`${UP}3.0 s: ${lost('a')}`]);
  });

  it('has both lines for the next outage too', () => {
    const { lines, find, lose } = make();
    for (const name of ['first', 'second']) {
      lose('a', name);
      find('a');
    }
    expect(lines).toEqual([
      DOWN + lost('first'),
      `${UP}0.0 s: ${lost('first')}`,
      DOWN + lost('second'),
      `${UP}0.0 s: ${lost('second')}`,
    ]);
  });

  it('has the two lines in turn, whatever happens', () => {
    const step = fc.tuple(
      fc.constantFrom('find', 'lose', 'disconnect', 'remove', 'ready', 'look'),
      fc.constantFrom('a', 'b', THE_SERVER),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { health, lines, find, lose, remove } = make();
        for (const [action, server] of steps) {
          if (action === 'find') find(server);
          if (action === 'lose') lose(server);
          if (action === 'disconnect')
            health.noteFailure(health.breakerOf(server), new Error('Connection is closed.'));
          if (action === 'remove' && server !== THE_SERVER) remove(server);
          if (action === 'ready') health.onReady();
          if (action === 'look') health.storeHealth();
          jest.advanceTimersByTime(10_000);
        }
        expect(lines.map((line) => line.startsWith(UP))).toEqual(lines.map((_, i) => i % 2 === 1));
        // an outage without an open breaker, such as after a reconnect, is up already
        expect(health.storeHealth().isUp || lines.length % 2 === 1).toBe(true);
      }),
    );
  });
});

describe('the connection as a whole', () => {
  it('opens the breaker when it is lost, and closes it when it is ready', () => {
    const { health, lines } = make(false);
    health.onLost('Redis cannot be reached: ECONNREFUSED');
    health.onLost('Redis cannot be reached: ETIMEDOUT');
    expect(health.storeHealth()).toMatchObject({
      isUp: false,
      reason: 'Redis cannot be reached: ECONNREFUSED',
    });
    health.onReady();
    expect(health.storeHealth()).toEqual(UP_STATE);
    expect(lines).toHaveLength(2);
  });

  it('does not close the breaker when it is ready if the last call has failed, except in a Cluster', () => {
    for (const isCluster of [false, true]) {
      const { health } = make(isCluster);
      health.noteFailure(health.breakerOf(THE_SERVER), new ReplyError('NOPERM'));
      health.onReady();
      expect(health.storeHealth().isUp).toBe(isCluster);
      expect(health.breakerOf(THE_SERVER).admits()).toBe(true);
    }
  });

  it('closes the breaker when it is ready if the last call was not sent', () => {
    const { health } = make(false);
    health.noteFailure(health.breakerOf(THE_SERVER), new NotReadyError('connecting'));
    health.onReady();
    expect(health.storeHealth()).toEqual(UP_STATE);
  });
});

describe('a server that comes and goes', () => {
  const flap = ({ find, lose }: ReturnType<typeof make>, times: number): void => {
    for (let i = 0; i < times; i++) {
      lose('a');
      find('a');
    }
  };

  it('is logged at most ten times a minute, each time with both lines', () => {
    const made = make();
    flap(made, 1_000);
    expect(made.lines).toHaveLength(20);
    jest.advanceTimersByTime(60_000);
    flap(made, 1_000);
    expect(made.lines).toHaveLength(40);
    expect(made.lines.filter((line) => line.startsWith(UP))).toHaveLength(20);
  });

  it('is logged if the outage lasts, when a request is decided without Redis in the next minute', () => {
    const made = make();
    const { health, lines, find, lose } = made;
    flap(made, 50);
    lose('a', 'a long');
    for (let s = 0; s < 120; s++) {
      health.logOutage();
      jest.advanceTimersByTime(1_000);
    }
    expect(lines.slice(20)).toEqual([DOWN + lost('a long')]);
    find('a');
    expect(lines.slice(21)).toEqual([`${UP}120.0 s: ${lost('a long')}`]);
  });
});

describe('a server that was replaced', () => {
  it('is removed when another server is called', () => {
    const { health, lines, find, lose, remove } = make();
    lose('a');
    remove('a');
    find('b');
    expect(health.storeHealth().isUp).toBe(true);
    expect(lines).toHaveLength(2);
  });

  it('is removed when the health is read', () => {
    const { health, lines, lose, remove } = make();
    lose('a');
    expect(health.storeHealth().isUp).toBe(false);
    remove('a');
    expect(health.storeHealth()).toEqual(UP_STATE);
    expect(lines).toHaveLength(2);
  });

  it('is removed after a reply of another server, at most once a second', () => {
    const { health, lines, find, lose, remove } = make();
    find('b');
    lose('a');
    health.tidy();
    remove('a');
    health.tidy();
    expect(lines).toHaveLength(1);
    jest.advanceTimersByTime(1_000);
    health.tidy();
    expect(lines).toHaveLength(2);
  });

  it('does not end the outage of other servers', () => {
    const { health, lines, find, lose, remove } = make();
    lose('a');
    lose('b');
    remove('a');
    expect(health.storeHealth().isUp).toBe(false);
    find('b');
    expect(health.storeHealth().isUp).toBe(true);
    expect(lines).toHaveLength(2);
  });

  it('starts with a closed breaker when it comes back', () => {
    const { health, lose, remove } = make();
    lose('a');
    const before = health.breakerOf('a');
    remove('a');
    health.storeHealth();
    expect(health.breakerOf('a')).not.toBe(before);
    expect(health.breakerOf('a').admits()).toBe(true);
  });

  it.each<[string, number]>([
    ['was open', 5],
    ['was closed', 1],
  ])('is not affected by calls that were in flight, when its breaker %s', (_, failures) => {
    const { health, find, remove } = make();
    const old = health.breakerOf('a');
    timeOut(health, old, failures);
    remove('a');
    find('b');
    timeOut(health, old, 5);
    expect(health.storeHealth().isUp).toBe(true);
    health.noteSuccess(old, true);
    expect(health.storeHealth().isUp).toBe(true);
  });

  it('is removed even if it was never lost', () => {
    const { health, remove } = make();
    const before = health.breakerOf('a');
    remove('a');
    health.breakerOf('b');
    expect(health.breakerOf('a')).not.toBe(before);
  });
});

describe('a server that was not called for a long time', () => {
  it('stays down, without another line', () => {
    const { health, lines, lose } = make();
    lose('a');
    jest.advanceTimersByTime(60_000);
    expect(health.storeHealth().isUp).toBe(false);
    expect(lines).toEqual([DOWN + lost('a')]);
  });
});
