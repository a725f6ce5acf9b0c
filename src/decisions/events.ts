import type { ExecutionContext } from '@nestjs/common';
import { channel } from 'node:diagnostics_channel';
import { formatError } from '../core/errors.js';
import { isPromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import { nestLog, nestLogPerSecond } from '../nest/log.js';
import { RuleError } from '../rules/evaluate.js';

/** A verdict, as hooks and diagnostics channels receive it. */
export interface FreqLimitEvent {
  /** The verdict. It is frozen, so hooks cannot change it. A result that denies because of `blockFor` has `blocked: true`. */
  readonly verdict: Verdict;
  /** The request's context; `undefined` for a call of `FreqLimitService.consume`. */
  readonly context: ExecutionContext | undefined;
}

/** A function that is called with verdicts. Its result is not awaited; if it fails, one line is logged. */
export type FreqLimitHook = (event: FreqLimitEvent) => unknown;

const VERDICTS = channel('nestjs-freq-limit:verdict');
const DENIALS = channel('nestjs-freq-limit:denied');
const MINUTE_MS = 60_000;

/** The module's options that are called with verdicts. */
export interface HookOptions {
  readonly onVerdict: FreqLimitHook | undefined;
  readonly onDenied: FreqLimitHook | undefined;
}

/**
 * Reports each verdict before the request continues: to the module's hooks, and on the channels
 * `nestjs-freq-limit:verdict` and `nestjs-freq-limit:denied` of `node:diagnostics_channel`. Listeners are not awaited and
 * cannot change a verdict.
 */
export class VerdictEvents {
  private readonly log = nestLogPerSecond();
  private readonly shadowLog = nestLog.limited(MINUTE_MS);

  constructor(private readonly hooks: HookOptions) {}

  report(verdict: Verdict, context: ExecutionContext | undefined): void {
    this.emit('onVerdict', VERDICTS, verdict, context);
    if (!verdict.allowed) this.emit('onDenied', DENIALS, verdict, context);
  }

  /** Logs the first request that a shadow rule would have denied, then at most one line per minute and rule. */
  reportShadows({ results }: Verdict, context: ExecutionContext): void {
    for (const { shadow, allowed, name } of results) {
      if (shadow !== true || allowed) continue;
      const rule = `${context.getClass().name}.${context.getHandler().name}, rule "${name}"`;
      this.shadowLog.warn(
        'FREQ_LIMIT_SHADOW_DENIED',
        rule,
        (leftOut) => `${rule}: this shadow rule would have denied ${requests(leftOut + 1)}`,
      );
    }
  }

  /** Logs, at the same rate, that a shadow rule was skipped for a request because one of its functions failed. */
  readonly shadowFailed = (error: unknown): void => {
    this.shadowLog.error(
      'FREQ_LIMIT_SHADOW_FAILED',
      // not the message, which may be different for each request
      `failed: ${error instanceof RuleError ? error.rule : ''}`,
      (leftOut) => `A shadow rule was skipped for ${requests(leftOut + 1)}: ${formatError(error)}`,
    );
  };

  private emit(
    option: keyof HookOptions,
    events: ReturnType<typeof channel>,
    verdict: Verdict,
    context: ExecutionContext | undefined,
  ): void {
    const hook = this.hooks[option];
    if (hook === undefined && !events.hasSubscribers) return;
    const event: FreqLimitEvent = { verdict: frozen(verdict), context };
    events.publish(event);
    if (hook !== undefined) this.call(option, hook, event);
  }

  private call(option: keyof HookOptions, hook: FreqLimitHook, event: FreqLimitEvent): void {
    try {
      const answer = hook(event);
      if (!isPromise(answer)) return;
      // the `then` of another library's thenable may throw
      void Promise.resolve(answer).then(undefined, (error: unknown) => {
        this.hookFailed(option, error);
      });
    } catch (error) {
      this.hookFailed(option, error);
    }
  }

  private hookFailed(option: keyof HookOptions, error: unknown): void {
    this.log.error(
      'FREQ_LIMIT_HOOK_FAILED',
      option,
      `The ${option} function failed; the request continues: ${formatError(error)}`,
    );
  }
}

/** Several listeners get the same verdict, and so does the rest of the request. */
function frozen(verdict: Verdict): Verdict {
  for (const result of verdict.results) Object.freeze(result);
  Object.freeze(verdict.results);
  return Object.freeze(verdict);
}

function requests(count: number): string {
  return count === 1 ? 'a request' : `${count} requests since the last such line`;
}
