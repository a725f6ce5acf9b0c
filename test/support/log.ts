import { Logger } from '@nestjs/common';
import type { LogCode } from '../../src/core/log-codes.js';

/** What Nest's `Logger` got since the running test began. */
export interface CapturedLog {
  /** Warnings and errors, in their order. */
  readonly lines: string[];
  /** Lines of the level `log`, also those of Nest. */
  readonly infos: string[];
  readonly warnings: string[];
  readonly errors: string[];
  /** The stack of each error; `''` if it came without one. */
  readonly stacks: string[];
  /** The lines with a code. */
  withCode(code: LogCode): string[];
  /** Everything that was logged at any level, stacks too. */
  text(): string;
  clear(): void;
}

const LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const;

/** Captures what the tests of a file, or of a `describe`, log, and keeps it from the console. */
export function captureLog(): CapturedLog {
  const written: string[] = [];
  const log: CapturedLog = {
    lines: [],
    infos: [],
    warnings: [],
    errors: [],
    stacks: [],
    withCode: (code) => log.lines.filter((line) => line.startsWith(`${code}: `)),
    text: () => written.join('\n'),
    clear: () => {
      for (const entries of [log.lines, log.infos, log.warnings, log.errors, log.stacks, written])
        entries.length = 0;
    },
  };
  const originals = Object.fromEntries(LEVELS.map((level) => [level, Logger.prototype[level]]));
  beforeAll(() => {
    for (const level of LEVELS) {
      Logger.prototype[level] = (line: unknown, stack: unknown = ''): void => {
        written.push(String(line), String(stack));
        if (level === 'log') log.infos.push(String(line));
        if (level === 'warn') log.warnings.push(String(line));
        if (level === 'error') {
          log.errors.push(String(line));
          log.stacks.push(String(stack));
        }
        if (level === 'warn' || level === 'error') log.lines.push(String(line));
      };
    }
  });
  beforeEach(() => {
    log.clear();
  });
  afterAll(() => {
    Object.assign(Logger.prototype, originals);
  });
  return log;
}

/** Matches a line with this code whose message begins like this. */
export function logLine(code: LogCode, start: string | RegExp): unknown {
  const source =
    typeof start === 'string' ? start.replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`) : start.source;
  return expect.stringMatching(new RegExp(`^${code}: ${source}`));
}
