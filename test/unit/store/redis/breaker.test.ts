import { jest } from '@jest/globals';
import fc from 'fast-check';
import { Breaker } from '../../../../src/store/redis/breaker.js';

function make() {
  let nowMs = 5_000;
  const changes: (string | undefined)[] = [];
  const breaker: Breaker = new Breaker(
    (one, reason) => {
      expect(one).toBe(breaker);
      changes.push(reason);
    },
    () => nowMs,
  );
  return {
    breaker,
    changes,
    advance: (ms: number) => void (nowMs += ms),
    failTimes: (times: number, isSure = false) => {
      for (let i = 1; i <= times; i++) breaker.fail(`failure ${i}`, isSure ? 'permanent' : 'timeout');
    },
  };
}

describe('a closed breaker', () => {
  it('admits every call', () => {
    const { breaker, changes } = make();
    expect(Array.from({ length: 100 }, () => breaker.admits())).not.toContain(false);
    expect(breaker.isOpen).toBe(false);
    expect(changes).toEqual([]);
  });

  it('bears four failures in a row, and opens at the fifth, for its reason', () => {
    const { breaker, changes, failTimes } = make();
    failTimes(4);
    expect(breaker.isOpen).toBe(false);
    expect(breaker.admits()).toBe(true);
    breaker.fail('the last straw', 'timeout');
    expect(breaker.isOpen).toBe(true);
    expect(breaker.admits()).toBe(false);
    expect(changes).toEqual(['the last straw']);
  });

  it('counts in a row: one success begins anew', () => {
    const { breaker, changes, failTimes } = make();
    for (let i = 0; i < 10; i++) {
      failTimes(4);
      breaker.succeed();
    }
    expect(breaker.isOpen).toBe(false);
    expect(changes).toEqual([]);
  });

  it('counts failures however far apart they are', () => {
    const { breaker, advance } = make();
    for (let i = 0; i < 5; i++) {
      breaker.fail('slow', 'timeout');
      advance(3_600_000);
    }
    expect(breaker.isOpen).toBe(true);
  });

  it('opens at once when the failure is sure', () => {
    const { breaker, changes } = make();
    breaker.fail('READONLY', 'permanent');
    expect(breaker.isOpen).toBe(true);
    expect(breaker.admits()).toBe(false);
    expect(changes).toEqual(['READONLY']);
  });

  it('is opened by one who knows', () => {
    const { breaker, changes } = make();
    breaker.open('the connection is lost');
    expect(breaker.admits()).toBe(false);
    expect(changes).toEqual(['the connection is lost']);
  });

  it('has nothing to hope for', () => {
    const { breaker, advance } = make();
    breaker.allowProbe();
    advance(1_000_000);
    expect([breaker.admits(), breaker.admits()]).toEqual([true, true]);
  });
});

describe('an open breaker', () => {
  it('admits one call after a rest of a second, and no other', () => {
    const { breaker, advance } = make();
    breaker.open('lost');
    advance(999);
    expect(breaker.admits()).toBe(false);
    advance(1);
    expect([breaker.admits(), breaker.admits(), breaker.admits()]).toEqual([true, false, false]);
  });

  it('admits the next one a second later when the first was never heard of again', () => {
    const { breaker, advance } = make();
    breaker.open('lost');
    advance(1_000);
    expect(breaker.admits()).toBe(true);
    advance(999);
    expect(breaker.admits()).toBe(false);
    advance(1);
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
  });

  it('rests for a whole second after the call that tried has failed', () => {
    const { breaker, advance, changes } = make();
    breaker.open('lost');
    advance(1_000);
    expect(breaker.admits()).toBe(true);
    advance(250);
    breaker.fail('still lost', 'timeout');
    advance(999);
    expect(breaker.admits()).toBe(false);
    advance(1);
    expect(breaker.admits()).toBe(true);
    expect(changes).toEqual(['lost']);
  });

  it('closes at the first success, and says so once', () => {
    const { breaker, advance, changes } = make();
    breaker.open('lost');
    advance(1_000);
    expect(breaker.admits()).toBe(true);
    breaker.succeed();
    breaker.succeed();
    expect(breaker.isOpen).toBe(false);
    expect([breaker.admits(), breaker.admits()]).toEqual([true, true]);
    expect(changes).toEqual(['lost', undefined]);
  });

  it('is closed with a clean slate: five failures open it again', () => {
    const { breaker, changes, failTimes } = make();
    failTimes(20);
    breaker.succeed();
    failTimes(4);
    expect(breaker.isOpen).toBe(false);
    failTimes(1);
    expect(breaker.isOpen).toBe(true);
    expect(changes).toEqual(['failure 5', undefined, 'failure 1']);
  });

  it('opens once, however many of the calls on their way fail', () => {
    const { changes, failTimes } = make();
    failTimes(50);
    failTimes(5, true);
    expect(changes).toEqual(['failure 5']);
  });

  it('lets the next call try when there is hope, and only that', () => {
    const { breaker, changes } = make();
    breaker.open('lost');
    breaker.allowProbe();
    expect(breaker.isOpen).toBe(true);
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
    expect(changes).toEqual(['lost']);
  });
});

describe('hope that comes again and again', () => {
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

describe('failures that come at once', () => {
  it('count once in fifty milliseconds, so that a connection in the making opens nothing', () => {
    const { breaker, changes, advance } = make();
    for (let i = 0; i < 1_000; i++) breaker.fail('Connection is closed.', 'disconnected');
    expect(breaker.isOpen).toBe(false);
    for (let i = 0; i < 4; i++) {
      advance(50);
      breaker.fail('Connection is closed.', 'disconnected');
    }
    expect(changes).toEqual(['Connection is closed.']);
  });
});

describe('any breaker', () => {
  type Step = 'ask' | 'succeed' | 'fail' | 'fail surely' | 'open' | number;

  /** Takes steps, numbers of milliseconds among them; answers when calls were admitted while it was open. */
  function play(steps: readonly Step[]) {
    const { breaker, changes, advance } = make();
    let nowMs = 0;
    const tries: number[] = [];
    const refused: boolean[] = [];
    for (const step of steps) {
      const { isOpen } = breaker;
      if (typeof step === 'number') {
        advance(step);
        nowMs += step;
      } else if (step === 'ask') {
        const admits = breaker.admits();
        if (isOpen && admits) tries.push(nowMs);
        if (!isOpen) refused.push(!admits);
      } else if (step === 'succeed') {
        breaker.succeed();
      } else if (step === 'open') {
        breaker.open('lost');
      } else {
        breaker.fail('failed', step === 'fail surely' ? 'permanent' : 'timeout');
      }
    }
    return { breaker, changes, tries, refused };
  }

  const wait = fc.integer({ min: 1, max: 1_500 });
  const stepsOf = (...steps: Step[]): fc.Arbitrary<Step[]> =>
    fc.array(fc.oneof(fc.constantFrom(...steps), wait), { maxLength: 80 });

  it('tells of open and closed in turn, and refuses nothing while it is closed', () => {
    fc.assert(
      fc.property(stepsOf('ask', 'succeed', 'fail', 'fail surely', 'open'), (steps) => {
        const { breaker, changes, refused } = play(steps);
        expect(changes.map((reason) => reason !== undefined)).toEqual(changes.map((_, i) => i % 2 === 0));
        expect(breaker.isOpen).toBe(changes.length % 2 === 1);
        expect(refused).not.toContain(true);
      }),
    );
  });

  it('admits no two calls within a second while it is open', () => {
    fc.assert(
      fc.property(stepsOf('ask', 'ask', 'fail', 'fail surely', 'open'), (steps) => {
        const { tries } = play(['open', ...steps]);
        const gaps = tries.slice(1).map((ms, i) => ms - tries[i]!);
        expect(gaps.filter((gap) => gap < 1_000)).toEqual([]);
      }),
    );
  });
});

describe('by itself', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('needs no timer, and goes by a clock that nobody can set', () => {
    jest.useFakeTimers();
    const breaker = new Breaker(() => undefined);
    breaker.open('lost');
    jest.setSystemTime(Date.now() + 3_600_000);
    expect(breaker.admits()).toBe(false);
    jest.advanceTimersByTime(1_000);
    expect(breaker.admits()).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });
});
