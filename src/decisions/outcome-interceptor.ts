import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { from, type Observable, type ObservableNotification, of } from 'rxjs';
// before rxjs 7.2 its main entry has no operators
import { concatMap, dematerialize, materialize } from 'rxjs/operators';
import { contextKindOf } from '../contexts/context-kind.js';
import { interceptorsOf } from '../nest/nest-metadata.js';
import { claimSettlement, type HandlerEnd, runWithDecision } from './decisions.js';

const BRAND = Symbol.for('nestjs-freq-limit:outcome-interceptor');
const VERDICT_BRAND = Symbol.for('nestjs-freq-limit:verdict-interceptor');

type OutcomeInterceptor = NestInterceptor & { readonly [BRAND]: true };

/**
 * Runs around handlers that have a rule with `countWhen`, and settles the guard's decision before the response is sent. It
 * uses nothing but the context, so one instance serves all applications of a process.
 */
export const OUTCOME_INTERCEPTOR = outcomeInterceptor(false);

/** The same for handlers that answer HTTP requests themselves. Their return value says nothing about the response. */
export const ERROR_INTERCEPTOR = outcomeInterceptor(true);

function outcomeInterceptor(answersItself: boolean): OutcomeInterceptor {
  return {
    [BRAND]: true,
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const settle = claimSettlement(context);
      if (settle === undefined) return next.handle();
      const onlyErrors = answersItself && contextKindOf(context).isHttp;
      return next.handle().pipe(
        materialize(),
        // a stream counts as a success with its first value
        concatMap((event, i) => (i === 0 ? from(settleBefore(event)) : of(event))),
        dematerialize(),
      );

      async function settleBefore(event: ObservableNotification<unknown>): Promise<typeof event> {
        // the rest is settled at the end of the response
        if (event.kind === 'E' || !onlyErrors) await settle?.(endOf(event, context));
        return event;
      }
    },
  };
}

function endOf(event: ObservableNotification<unknown>, context: ExecutionContext): HandlerEnd {
  if (event.kind === 'E') return { succeeded: false, error: event.error as unknown };
  const isFailure =
    event.kind === 'N' && event.value instanceof Error && contextKindOf(context).failsByReturnedError;
  return isFailure ? { succeeded: false, error: event.value } : { succeeded: true, error: undefined };
}

/**
 * Runs around message handlers that have a parameter with `@FreqLimitVerdict()`. If the message is a plain value, the
 * parameter has no object by which it could find the guard's decision.
 */
export const VERDICT_INTERCEPTOR: NestInterceptor & { readonly [VERDICT_BRAND]: true } = {
  [VERDICT_BRAND]: true,
  intercept: (context, next) => runWithDecision(context, () => next.handle()),
};

/** Whether an outcome interceptor runs around a handler. It must be added before Nest reads the handler. */
export function observesOutcome(method: object): boolean {
  return interceptorsOf(method).some(isOutcomeInterceptor);
}

/** Whether it is an outcome interceptor, also one of another copy of this package. */
export function isOutcomeInterceptor(interceptor: unknown): boolean {
  return BRAND in (Object(interceptor) as object);
}

/** Whether it is a verdict interceptor, also one of another copy of this package. */
export function isVerdictInterceptor(interceptor: unknown): boolean {
  return VERDICT_BRAND in (Object(interceptor) as object);
}
