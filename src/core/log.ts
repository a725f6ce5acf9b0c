import { LimitedLog } from './limited-log.js';
import type { LogCode } from './log-codes.js';

/** Where lines are written, such as a `Logger` of Nest. */
export interface LogTarget {
  log(line: string): void;
  warn(line: string): void;
  error(line: string, stack?: string): void;
}

/**
 * Writes log lines, each with its code in front. Ignores what the target throws: a request must not wait forever, and the
 * process must not end, because a logger of the application fails.
 */
export class Log {
  constructor(private readonly target: LogTarget) {}

  /** For what is normal, such as the start of the application. */
  info(code: LogCode, message: string): void {
    ignoreErrors(() => {
      this.target.log(`${code}: ${message}`);
    });
  }

  warn(code: LogCode, message: string): void {
    ignoreErrors(() => {
      this.target.warn(`${code}: ${message}`);
    });
  }

  /** @param stack lines of a stack, without its message: a client may have written that */
  error(code: LogCode, message: string, stack?: string): void {
    ignoreErrors(() => {
      if (stack === undefined) this.target.error(`${code}: ${message}`);
      else this.target.error(`${code}: ${message}`, stack);
    });
  }

  /** The same log, for lines that requests can cause again and again: at most one of each kind per period. */
  limited(periodMs: number, nowMs?: () => number): LimitedLog {
    return new LimitedLog(this, periodMs, nowMs);
  }
}

function ignoreErrors(write: () => void): void {
  try {
    write();
  } catch {
    // the log is where it would be reported
  }
}
