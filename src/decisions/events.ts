import { type ExecutionContext, Logger } from '@nestjs/common';
import { channel } from 'node:diagnostics_channel';
import { formatError } from '../core/errors.js';
import { LimitedLog } from '../core/limited-log.js';
import { isPromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import { LimitedLogger } from '../freq-limit.limited-logger.js';

/** What hooks and channels are told of a verdict. */
export interface FreqLimitEvent {
  readonly verdict: Verdict;
  /** The visit's context; `undefined` where `FreqLimitService.consume` was called. */
  readonly context: ExecutionContext | undefined;
}

export type FreqLimitHook = (event: FreqLimitEvent) => unknown;

const VERDICTS = channel('nestjs-freq-limit:verdict');
const DENIALS = channel('nestjs-freq-limit:denied');
const MINUTE_MS = 60_000;

interface Hooks {
  readonly onVerdict: FreqLimitHook | undefined;
  readonly onDenied: FreqLimitHook | undefined;
}

/**
 * Tells those who listen of each verdict, before the visit goes on: the module's hooks, and the channels
 * `nestjs-freq-limit:verdict` and `nestjs-freq-limit:denied` of `node:diagnostics_channel`. No listener changes a
 * verdict, and nobody waits for one.
 */
export class VerdictEvents {
  private readonly logger = new Logger('FreqLimit');
  private readonly failures = new LimitedLogger();
  private readonly limited = new LimitedLog(
    {
      warn: (_, message) => {
        this.logger.warn(message);
      },
      error: (_, message) => {
        this.logger.error(message);
      },
    },
    MINUTE_MS,
  );

  constructor(private readonly hooks: Hooks) {}

  report(verdict: Verdict, context: ExecutionContext | undefined): void {
    const { onVerdict, onDenied } = this.hooks;
    if (onVerdict !== undefined || VERDICTS.hasSubscribers) this.tell(onVerdict, VERDICTS, verdict, context);
    if (verdict.allowed) return;
    if (onDenied !== undefined || DENIALS.hasSubscribers) this.tell(onDenied, DENIALS, verdict, context);
  }

  /** A line in the log for the first visit that a shadow rule would have denied, and then at most one a minute. */
  reportShadows({ results }: Verdict, context: ExecutionContext): void {
    for (const { shadow, allowed, name } of results) {
      if (shadow !== true || allowed) continue;
      const place = `${context.getClass().name}.${context.getHandler().name}, rule "${name}"`;
      this.limited.warn(
        'FREQ_LIMIT_SHADOW_DENIED',
        place,
        (leftOut) => `${place}: a shadow rule, which would have denied ${count(leftOut + 1)}`,
      );
    }
  }

  /** What keeps a shadow rule from being asked: a line as often as that. */
  readonly shadowFailed = (error: unknown): void => {
    const message = formatError(error);
    // the rule; what comes behind it may be of one visit alone
    const [place = ''] = message.split('": ', 1);
    this.limited.error(
      'FREQ_LIMIT_SHADOW_FAILED',
      `failed: ${place}`,
      (leftOut) => `A shadow rule was left out of ${count(leftOut + 1)}: ${message}`,
    );
  };

  private tell(
    hook: FreqLimitHook | undefined,
    events: ReturnType<typeof channel>,
    verdict: Verdict,
    context: ExecutionContext | undefined,
  ): void {
    const event: FreqLimitEvent = { verdict: frozen(verdict), context };
    events.publish(event);
    if (hook === undefined) return;
    try {
      const answer = hook(event);
      // a thenable that is not a promise may throw when it is awaited
      if (isPromise(answer)) void Promise.resolve(answer).then(undefined, this.hookFailed);
    } catch (error) {
      this.hookFailed(error);
    }
  }

  private readonly hookFailed = (error: unknown): void => {
    this.failures.error('hook', `A hook failed; the request continues: ${formatError(error)}`);
  };
}

/** Many may listen, and the visit goes on with the same verdict. */
function frozen(verdict: Verdict): Verdict {
  for (const result of verdict.results) Object.freeze(result);
  Object.freeze(verdict.results);
  return Object.freeze(verdict);
}

function count(visits: number): string {
  return visits === 1 ? 'a visit' : `${visits} visits since it was last told`;
}
