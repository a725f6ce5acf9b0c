import { Logger } from '@nestjs/common';
import { Log } from '../core/log.js';

/** The log of the application, in the context `FreqLimit`. */
export const nestLog = new Log(new Logger('FreqLimit'));

/** The same for lines that requests can cause: at most one of each kind per second. */
export function nestLogPerSecond(): ReturnType<Log['limited']> {
  return nestLog.limited(1_000);
}
