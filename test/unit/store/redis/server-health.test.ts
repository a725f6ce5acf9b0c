import { jest } from '@jest/globals';
import { ServerHealth } from '../../../../src/store/redis/server-health.js';

const LOST = 'Redis is not asked any more, onStoreError decides until it answers again: ';

beforeEach(() => {
  jest.useFakeTimers({ now: Date.UTC(2026, 0, 2, 3, 4, 5) });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Servers `a`, `b` and `c` are ours until one is dismissed. */
function make() {
  const lines: string[] = [];
  const ours = new Set(['a', 'b', 'c']);
  const log = {
    warn: (line: string) => void lines.push(`warn: ${line}`),
    error: (line: string) => void lines.push(`error: ${line}`),
  };
  const outage = new ServerHealth(log, (server) => ours.has(server));
  return { outage, lines, dismiss: (server: string) => void ours.delete(server) };
}

describe('the breakers of servers', () => {
  it('are one for each', () => {
    const { outage } = make();
    const a = outage.breakerOf('a');
    expect(outage.breakerOf('b')).not.toBe(a);
    expect(outage.breakerOf('a')).toBe(a);
  });

  it('open alone', () => {
    const { outage } = make();
    outage.breakerOf('a').open('lost');
    expect(outage.breakerOf('a').admits()).toBe(false);
    expect(outage.breakerOf('b').admits()).toBe(true);
  });

  it('are all tried at once when there is hope', () => {
    const { outage } = make();
    for (const server of ['a', 'b']) outage.breakerOf(server).open('lost');
    outage.allowProbe();
    expect(['a', 'b', 'a', 'b'].map((server) => outage.breakerOf(server).admits())).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(outage.health().isUp).toBe(false);
  });
});

describe('the health', () => {
  it('is up where nothing was asked, and while all is well', () => {
    const { outage, lines } = make();
    const well = { store: 'redis', isUp: true, reason: undefined, since: undefined };
    expect(outage.health()).toEqual(well);
    outage.breakerOf('a').succeed();
    for (let i = 0; i < 4; i++) outage.breakerOf('a').fail('slow', 'timeout');
    expect(outage.health()).toEqual(well);
    expect(lines).toEqual([]);
  });

  it('tells since when a server is not asked, and why', () => {
    const { outage } = make();
    outage.breakerOf('a').open('lost');
    const since = new Date();
    jest.advanceTimersByTime(5_000);
    expect(outage.health()).toEqual({ store: 'redis', isUp: false, reason: 'lost', since });
    outage.breakerOf('a').succeed();
    expect(outage.health()).toEqual({ store: 'redis', isUp: true, reason: undefined, since: undefined });
  });

  it('is down until the last server answers, since the first was lost', () => {
    const { outage } = make();
    outage.breakerOf('a').open('a is lost');
    const since = new Date();
    jest.advanceTimersByTime(2_000);
    outage.breakerOf('b').open('b is lost');
    outage.breakerOf('a').succeed();
    expect(outage.health()).toMatchObject({ isUp: false, since });
    outage.breakerOf('b').succeed();
    expect(outage.health()).toMatchObject({ isUp: true, since: undefined });
  });
});

describe('the operator', () => {
  it('hears a line when a server is lost, and one when it answers', () => {
    const { outage, lines } = make();
    for (let i = 0; i < 20; i++) outage.breakerOf('a').fail('no answer', 'timeout');
    jest.advanceTimersByTime(12_340);
    outage.breakerOf('a').succeed();
    outage.breakerOf('a').succeed();
    expect(lines).toEqual([`error: ${LOST}no answer`, 'warn: Redis answers again, after 12.3 s: no answer']);
  });

  it('hears one line when the first of several is lost, and one when the last answers', () => {
    const { outage, lines } = make();
    for (const server of ['a', 'b', 'c']) {
      outage.breakerOf(server).open(`${server} is lost`);
      jest.advanceTimersByTime(1_000);
    }
    outage.breakerOf('b').succeed();
    outage.breakerOf('a').succeed();
    outage.breakerOf('a').open('a is lost again');
    outage.breakerOf('c').succeed();
    expect(lines).toEqual([`error: ${LOST}a is lost`]);
    outage.breakerOf('a').succeed();
    expect(lines.slice(1)).toEqual(['warn: Redis answers again, after 3.0 s: a is lost']);
  });

  it('hears of the next outage anew', () => {
    const { outage, lines } = make();
    for (const reason of ['first', 'second']) {
      outage.breakerOf('a').open(reason);
      outage.breakerOf('a').succeed();
    }
    expect(lines).toEqual([
      `error: ${LOST}first`,
      'warn: Redis answers again, after 0.0 s: first',
      `error: ${LOST}second`,
      'warn: Redis answers again, after 0.0 s: second',
    ]);
  });
});

describe('a server that comes and goes', () => {
  const flap = (outage: ServerHealth, times: number): void => {
    for (let i = 0; i < times; i++) {
      outage.breakerOf('a').open('lost');
      outage.breakerOf('a').succeed();
    }
  };

  it('is logged at most ten times a minute, each time with both lines', () => {
    const { outage, lines } = make();
    flap(outage, 1_000);
    expect(lines).toHaveLength(20);
    jest.advanceTimersByTime(60_000);
    flap(outage, 1_000);
    expect(lines).toHaveLength(40);
    expect(lines.filter((line) => line.startsWith('warn: Redis answers again'))).toHaveLength(20);
  });

  it('is logged if it lasts, when a request is decided without Redis in the next minute', () => {
    const { outage, lines } = make();
    flap(outage, 50);
    outage.breakerOf('a').open('lost for good');
    for (let s = 0; s < 120; s++) {
      outage.remind();
      jest.advanceTimersByTime(1_000);
    }
    expect(lines.slice(20)).toEqual([`error: ${LOST}lost for good`]);
    outage.breakerOf('a').succeed();
    expect(lines.slice(21)).toEqual(['warn: Redis answers again, after 120.0 s: lost for good']);
  });
});

describe('a server that was replaced', () => {
  it('is forgotten when the next one is asked', () => {
    const { outage, lines, dismiss } = make();
    outage.breakerOf('a').open('lost');
    dismiss('a');
    outage.breakerOf('b').succeed();
    expect(outage.health().isUp).toBe(true);
    expect(lines).toHaveLength(2);
  });

  it('is forgotten when somebody looks', () => {
    const { outage, lines, dismiss } = make();
    outage.breakerOf('a').open('lost');
    expect(outage.health().isUp).toBe(false);
    dismiss('a');
    expect(outage.health()).toMatchObject({ isUp: true, reason: undefined, since: undefined });
    expect(lines).toHaveLength(2);
  });

  it('leaves the others that are lost', () => {
    const { outage, lines, dismiss } = make();
    outage.breakerOf('a').open('lost');
    outage.breakerOf('b').open('lost');
    dismiss('a');
    expect(outage.health().isUp).toBe(false);
    outage.breakerOf('b').succeed();
    expect(outage.health().isUp).toBe(true);
    expect(lines).toHaveLength(2);
  });

  it('begins anew when it comes back', () => {
    const { outage, dismiss } = make();
    const before = outage.breakerOf('a');
    before.open('lost');
    dismiss('a');
    outage.health();
    expect(outage.breakerOf('a')).not.toBe(before);
    expect(outage.breakerOf('a').admits()).toBe(true);
  });

  it.each<[string, (fail: (times: number) => void) => void]>([
    ['was open', (fail) => fail(5)],
    ['was closed', (fail) => fail(1)],
  ])('is not heard of again by calls that were on their way, when it %s', (_, before) => {
    const { outage, dismiss } = make();
    const old = outage.breakerOf('a');
    const fail = (times: number): void => {
      for (let i = 0; i < times; i++) old.fail('no answer', 'timeout');
    };
    before(fail);
    dismiss('a');
    outage.breakerOf('b').succeed();
    fail(5);
    expect(outage.health().isUp).toBe(true);
    old.succeed();
    expect(outage.health().isUp).toBe(true);
  });

  it('is not kept while it was never lost', () => {
    const { outage, dismiss } = make();
    const before = outage.breakerOf('a');
    dismiss('a');
    outage.breakerOf('b');
    expect(outage.breakerOf('a')).not.toBe(before);
  });
});

describe('a server that nobody has asked for long', () => {
  it('is neither said to answer nor taken to be up', () => {
    const { outage, lines } = make();
    outage.breakerOf('a').open('lost');
    jest.advanceTimersByTime(60_000);
    expect(outage.health().isUp).toBe(false);
    expect(lines).toEqual([`error: ${LOST}lost`]);
  });
});
