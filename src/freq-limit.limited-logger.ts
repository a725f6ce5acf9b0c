import { Logger } from '@nestjs/common';
import { LimitedLog } from './core/limited-log.js';

const SECOND_MS = 1_000;

/**
 * Logs errors that a client's requests can cause again and again: at most one line a second for each kind, with the number
 * of errors that were not logged since.
 */
export class LimitedLogger {
  private readonly logger = new Logger('FreqLimit');
  private readonly limited = new LimitedLog(
    {
      warn: (_, message) => {
        this.logger.warn(message);
      },
      error: (_, message, stack) => {
        this.logger.error(message, stack);
      },
    },
    SECOND_MS,
  );

  /** @param kind errors of one kind share the limit; must not contain text from a client */
  error(kind: string, message: string, frames?: string): void {
    this.limited.error(
      'FREQ_LIMIT_GUARD_FAILED',
      kind,
      (leftOut) =>
        leftOut === 0 ? message : `${message} (${leftOut} similar errors not logged since the last line)`,
      frames,
    );
  }
}
