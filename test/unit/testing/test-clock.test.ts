import { TestClock } from '../../../src/testing/test-clock.js';

describe('a test clock', () => {
  it('stays at 0 until it is moved', () => {
    expect(new TestClock().now()).toBe(0);
  });

  it.each([
    ['1m', 60_001],
    ['500ms', 501],
    [1.5, 1_501],
  ] as const)('moves past %p', (time, nowMs) => {
    const { now, advance } = boundClock();
    advance(time);
    expect(now()).toBe(nowMs);
  });

  it.each([0, -1, NaN, '1 m', undefined])('throws for %p', (time) => {
    const clock = new TestClock();
    expect(() => clock.advance(time as number)).toThrow(RangeError);
    expect(clock.now()).toBe(0);
  });
});

function boundClock(): Pick<TestClock, 'now' | 'advance'> {
  const clock = new TestClock();
  return { now: clock.now, advance: (time) => clock.advance(time) };
}
