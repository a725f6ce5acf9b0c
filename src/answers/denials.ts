import type { ExecutionContext } from '@nestjs/common';
import { formatForLog, formatError } from '../core/errors.js';
import { attempt, isPromise, type MaybePromise, andThen } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import { denialOf, FreqLimitExceededException, markExceeded } from './freq-limit.exception.js';
import { LimitedLogger } from '../freq-limit.limited-logger.js';
import type { ResolvedOptions } from '../freq-limit.options.js';
import type { Denial } from './error-body.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import type { PlannedCheck } from '../rules/to-checks.js';

/**
 * Makes of a denying verdict what is thrown, as the rule that speaks for it and the module's options say. A function of
 * theirs that fails is a line in the log, and the caller is denied as if it were not there.
 */
export class Denials {
  private readonly logger = new LimitedLogger();

  constructor(private readonly options: ResolvedOptions) {}

  of(verdict: Verdict, checks: readonly PlannedCheck[], context: ExecutionContext): MaybePromise<Error> {
    const { exceptionFactory } = this.options;
    if (exceptionFactory === undefined) return this.toException(verdict, checks, context);
    const made = this.ask('exceptionFactory', () => exceptionFactory(verdict, context), isError);
    return andThen(made, (exception) => {
      if (exception === undefined) return this.toException(verdict, checks, context);
      return markExceeded(exception, verdict);
    });
  }

  private toException(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
  ): MaybePromise<FreqLimitExceededException> {
    const { errorFormat } = this.options;
    const rule = speakerOf(verdict, checks);
    const denial = denialBy(rule, verdict, checks);
    const message = rule?.message ?? this.options.message;
    if (typeof message !== 'function') {
      const told = message === undefined ? denial : { ...denial, message };
      return new FreqLimitExceededException(verdict, told, errorFormat);
    }
    const text = this.ask('message', () => message(verdict, context), isText);
    return andThen(text, (told = denial.message) => {
      return new FreqLimitExceededException(verdict, { ...denial, message: told }, errorFormat);
    });
  }

  /** What a function of the application answers, where that is of use. */
  private ask<T>(
    option: string,
    run: () => unknown,
    fits: (value: unknown) => value is T,
  ): MaybePromise<T | undefined> {
    const check = (value: unknown): T | undefined => {
      if (fits(value)) return value;
      this.logger.error(
        option,
        `The ${option} function returned ${formatForLog(value)}; the default is used instead`,
      );
      return undefined;
    };
    const answer = attempt(() => {
      const given = run();
      // that it is like a promise may be told by a getter, which may throw too
      return isPromise(given) ? Promise.resolve(given) : given;
    });
    if (!isPromise(answer)) return check(answer);
    return answer.then(check, (error: unknown) => {
      this.logger.error(
        option,
        `The ${option} function failed; the default is used instead: ${formatError(error)}`,
      );
      return undefined;
    });
  }
}

/** The rule of the tightest result. */
function speakerOf({ results, tightest }: Verdict, checks: readonly PlannedCheck[]): PlannedRule | undefined {
  return checks[results.findIndex((result) => result === tightest)]?.rule;
}

function denialBy(rule: PlannedRule | undefined, verdict: Verdict, checks: readonly PlannedCheck[]): Denial {
  const denial = denialOf(verdict);
  const hidden = checks.filter((check) => check.rule.hidden).map(({ name }) => name);
  return {
    ...denial,
    statusCode: rule?.statusCode ?? denial.statusCode,
    rules: denial.rules.filter((name) => !hidden.includes(name)),
  };
}

function isError(value: unknown): value is Error {
  return typeof (Object(value) as Error).message === 'string';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
