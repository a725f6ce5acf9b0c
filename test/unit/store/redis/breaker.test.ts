import { jest } from '@jest/globals';
import fc from 'fast-check';
import { Breaker } from '../../../../src/store/redis/breaker.js';

function make() {
  let nowMs = 5_000;
  const breaker = new Breaker('a', () => nowMs);
  return {
    breaker,
    advance: (ms: number) => void (nowMs += ms),
    failTimes: (times: number, isPermanent = false) => {
      for (let i = 1; i <= times; i++) breaker.fail(`failure ${i}`, isPermanent ? 'permanent' : 'timeout');
    },
  };
}

describe('a closed breaker', () => {
  it('admits every call', () => {
    const { breaker } = make();
    expect(Array.from({ length: 100 }, () => breaker.admits())).not.toContain(false);
    expect(breaker.isOpen).toBe(false);
    expect(breaker.reason).toBeUndefined();
  });

  it('stays closed after four failures in a row, and opens at the fifth with its reason', () => {
    const { breaker, failTimes } = make();
    failTimes(4);
    expect(breaker.isOpen).toBe(false);
    expect(breaker.admits()).toBe(true);
    breaker.fail('the fifth', 'timeout');
    expect(breaker.isOpen).toBe(true);
    expect(breaker.admits()).toBe(false);
    expect(breaker.reason).toBe('the fifth');
  });

  it('counts failures in a row: a success starts again at 0', () => {
    const { breaker, failTimes } = make();
    for (let i = 0; i < 10; i++) {
      failTimes(4);
      breaker.close();
    }
    expect(breaker.isOpen).toBe(false);
  });

  it('counts failures however far apart they are', () => {
    const { breaker, advance } = make();
    for (let i = 0; i < 5; i++) {
      breaker.fail('slow', 'timeout');
      advance(3_600_000);
    }
    expect(breaker.isOpen).toBe(true);
  });

  it('opens at once after a permanent failure', () => {
    const { breaker } = make();
    breaker.fail('READONLY', 'permanent');
    expect(breaker.isOpen).toBe(true);
    expect(breaker.admits()).toBe(false);
    expect(breaker.reason).toBe('READONLY');
  });

  it('can be opened without a failed call', () => {
    const { breaker } = make();
    breaker.open('the connection is lost');
    expect(breaker.admits()).toBe(false);
    expect(breaker.reason).toBe('the connection is lost');
  });

  it('ignores a new connection', () => {
    const { breaker, advance } = make();
    breaker.allowProbe();
    advance(1_000_000);
    expect([breaker.admits(), breaker.admits()]).toEqual([true, true]);
  });
});

describe('an open breaker', () => {
  it('admits one call after a pause of a second, and no other', () => {
    const { breaker, advance } = make();
    breaker.open('lost');
    advance(999);
    expect(breaker.admits()).toBe(false);
    advance(1);
    expect([breaker.admits(), breaker.admits(), breaker.admits()]).toEqual([true, false, false]);
  });

  it('admits the next call a second later if the first has no outcome', () => {
    const { breaker, advance } = make();
    breaker.open('lost');
    advance(1_000);
    expect(breaker.admits()).toBe(true);
    advance(999);
    expect(breaker.admits()).toBe(false);
    advance(1);
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
  });

  it('pauses for a whole second after the call that tried has failed', () => {
    const { breaker, advance } = make();
    breaker.open('lost');
    advance(1_000);
    expect(breaker.admits()).toBe(true);
    advance(250);
    breaker.fail('still lost', 'timeout');
    advance(999);
    expect(breaker.admits()).toBe(false);
    advance(1);
    expect(breaker.admits()).toBe(true);
    expect(breaker.reason).toBe('lost');
  });

  it('closes at the first success', () => {
    const { breaker, advance } = make();
    breaker.open('lost');
    advance(1_000);
    expect(breaker.admits()).toBe(true);
    breaker.close();
    breaker.close();
    expect(breaker.isOpen).toBe(false);
    expect(breaker.reason).toBeUndefined();
    expect([breaker.admits(), breaker.admits()]).toEqual([true, true]);
  });

  it('forgets its failures when it closes: five open it again', () => {
    const { breaker, failTimes } = make();
    failTimes(20);
    expect(breaker.reason).toBe('failure 5');
    breaker.close();
    failTimes(4);
    expect(breaker.isOpen).toBe(false);
    breaker.fail('the fifth', 'timeout');
    expect(breaker.reason).toBe('the fifth');
  });

  it('keeps its reason, however many calls in flight fail', () => {
    const { breaker, failTimes } = make();
    failTimes(50);
    failTimes(5, true);
    expect(breaker.reason).toBe('failure 5');
  });

  it('takes the reason with which it is opened again', () => {
    const { breaker } = make();
    breaker.open('lost');
    breaker.open('refused');
    expect(breaker.reason).toBe('refused');
  });

  it('lets only the next call try after a new connection', () => {
    const { breaker } = make();
    breaker.open('lost');
    breaker.allowProbe();
    expect(breaker.isOpen).toBe(true);
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
    expect(breaker.reason).toBe('lost');
  });
});

describe('a connection that every call breaks', () => {
  it('lets one call in a quarter of a second try', () => {
    const { breaker, advance } = make();
    breaker.open('lost');
    let tries = 0;
    for (let ms = 0; ms < 900; ms += 10) {
      breaker.allowProbe();
      if (breaker.admits()) {
        tries++;
        breaker.fail('lost', 'disconnected');
      }
      advance(10);
    }
    expect(tries).toBe(4);
  });
});

describe('calls that fail with a lost connection', () => {
  it('count once in fifty milliseconds, so that a single reconnect opens nothing', () => {
    const { breaker, advance } = make();
    for (let i = 0; i < 1_000; i++) breaker.fail('Connection is closed.', 'disconnected');
    expect(breaker.isOpen).toBe(false);
    for (let i = 0; i < 4; i++) {
      advance(50);
      breaker.fail('Connection is closed.', 'disconnected');
    }
    expect(breaker.reason).toBe('Connection is closed.');
  });
});

describe('any breaker', () => {
  type Step = 'ask' | 'close' | 'fail' | 'fail permanently' | 'open' | number;

  /** Takes steps, numbers of milliseconds among them; returns when calls were admitted while it was open. */
  function play(steps: readonly Step[]) {
    const { breaker, advance } = make();
    let nowMs = 0;
    const tries: number[] = [];
    const admittedWhenClosed: boolean[] = [];
    const reasons: boolean[] = [];
    for (const step of steps) {
      const { isOpen } = breaker;
      if (typeof step === 'number') {
        advance(step);
        nowMs += step;
      } else if (step === 'ask') {
        const admits = breaker.admits();
        if (isOpen && admits) tries.push(nowMs);
        if (!isOpen) admittedWhenClosed.push(admits);
      } else if (step === 'close') {
        breaker.close();
      } else if (step === 'open') {
        breaker.open('lost');
      } else {
        breaker.fail('failed', step === 'fail permanently' ? 'permanent' : 'timeout');
      }
      reasons.push(breaker.isOpen === (breaker.reason !== undefined));
    }
    return { tries, admittedWhenClosed, reasons };
  }

  const wait = fc.integer({ min: 1, max: 1_500 });
  const stepsOf = (...steps: Step[]): fc.Arbitrary<Step[]> =>
    fc.array(fc.oneof(fc.constantFrom(...steps), wait), { maxLength: 80 });

  it('has a reason exactly while it is open, and admits every call while it is closed', () => {
    fc.assert(
      fc.property(stepsOf('ask', 'close', 'fail', 'fail permanently', 'open'), (steps) => {
        const { admittedWhenClosed, reasons } = play(steps);
        expect(reasons).not.toContain(false);
        expect(admittedWhenClosed).not.toContain(false);
      }),
    );
  });

  it('admits no two calls within a second while it is open', () => {
    fc.assert(
      fc.property(stepsOf('ask', 'ask', 'fail', 'fail permanently', 'open'), (steps) => {
        const { tries } = play(['open', ...steps]);
        const gaps = tries.slice(1).map((ms, i) => ms - tries[i]!);
        expect(gaps.filter((gap) => gap < 1_000)).toEqual([]);
      }),
    );
  });
});

describe('the default clock', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('needs no timer, and ignores changes of the system time', () => {
    jest.useFakeTimers();
    const breaker = new Breaker('a');
    breaker.open('lost');
    jest.setSystemTime(Date.now() + 3_600_000);
    expect(breaker.admits()).toBe(false);
    jest.advanceTimersByTime(1_000);
    expect(breaker.admits()).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });
});
