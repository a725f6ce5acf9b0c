import { jest } from '@jest/globals';
import { Log } from '../../../src/core/log.js';
import type { LimitedLog } from '../../../src/core/limited-log.js';

describe('a limited log', () => {
  let nowMs: number;
  let lines: string[];
  let log: LimitedLog;
  beforeEach(() => {
    nowMs = 5;
    lines = [];
    const target = {
      log: (line: string) => void lines.push(line),
      warn: (line: string) => void lines.push(line),
      error: (line: string) => void lines.push(line),
    };
    log = new Log(target).limited(1_000, () => nowMs);
  });
  const warn = (kind: string): void => {
    log.warn('FREQ_LIMIT_REFUND_FAILED', kind, kind);
  };

  it('writes one line of each kind per period and counts the others', () => {
    for (const kind of ['a', 'a', 'b', 'a']) warn(kind);
    expect(lines).toEqual(['FREQ_LIMIT_REFUND_FAILED: a', 'FREQ_LIMIT_REFUND_FAILED: b']);
    nowMs += 999;
    warn('a');
    expect(lines).toHaveLength(2);
    nowMs += 1;
    for (const kind of ['a', 'a', 'b']) warn(kind);
    expect(lines.slice(2)).toEqual([
      'FREQ_LIMIT_REFUND_FAILED: a (3 similar lines not logged since the last one)',
      'FREQ_LIMIT_REFUND_FAILED: b',
    ]);
    nowMs += 5_000;
    log.error('FREQ_LIMIT_REFUND_FAILED', 'a', (leftOut) => `${leftOut} left out`);
    expect(lines.at(-1)).toBe('FREQ_LIMIT_REFUND_FAILED: 1 left out');
  });

  it('remembers at most a thousand kinds', () => {
    for (let i = 0; i < 5_000; i++) warn(`kind ${i}`);
    expect(lines).toHaveLength(5_000);
    warn('kind 4999');
    expect(lines).toHaveLength(5_000);
    warn('kind 0');
    expect(lines).toHaveLength(5_001);
  });

  it('passes the stack on', () => {
    const error = jest.fn();
    new Log({ log: jest.fn(), warn: jest.fn(), error })
      .limited(1_000)
      .error('FREQ_LIMIT_GUARD_FAILED', 'a', 'failed', '    at app.js:1:2');
    expect(error).toHaveBeenCalledWith('FREQ_LIMIT_GUARD_FAILED: failed', '    at app.js:1:2');
  });
});
