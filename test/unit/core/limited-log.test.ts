import { LimitedLog } from '../../../src/core/limited-log.js';

describe('a limited log', () => {
  let nowMs: number;
  let log: LimitedLog;
  beforeEach(() => {
    nowMs = 5;
    log = new LimitedLog(1_000, () => nowMs);
  });

  it('lets one line of each kind through in a time, and counts the others', () => {
    expect([log.admit('a'), log.admit('a'), log.admit('b'), log.admit('a')]).toEqual([
      0,
      undefined,
      0,
      undefined,
    ]);
    nowMs += 999;
    expect(log.admit('a')).toBeUndefined();
    nowMs += 1;
    expect([log.admit('a'), log.admit('a'), log.admit('b')]).toEqual([3, undefined, 0]);
    nowMs += 5_000;
    expect(log.admit('a')).toBe(1);
  });

  it('remembers no more than a thousand kinds', () => {
    for (let i = 0; i < 5_000; i++) expect(log.admit(`kind ${i}`)).toBe(0);
    expect(log.admit('kind 4999')).toBeUndefined();
    expect(log.admit('kind 0')).toBe(0);
  });
});
