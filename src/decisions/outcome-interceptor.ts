import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { from, type Observable, type ObservableNotification, of } from 'rxjs';
// before rxjs 7.2 its main entry has no operators
import { concatMap, dematerialize, finalize, materialize } from 'rxjs/operators';
import { contextKindOf } from '../contexts/context-kind.js';
import { interceptorsOf } from '../nest/nest-metadata.js';
import { claimSettlement, type ClaimedSettlement, type HandlerEnd, runWithDecision } from './decisions.js';

const BRAND = Symbol.for('nestjs-freq-limit:outcome-interceptor');
const VERDICT_BRAND = Symbol.for('nestjs-freq-limit:verdict-interceptor');

type OutcomeInterceptor = NestInterceptor & { readonly [BRAND]: true };

/**
 * Runs around handlers that have a rule with `countWhen` or `actualCost`, and settles the guard's decision before the response
 * is sent. It uses nothing but the context, so one instance serves all applications of a process.
 */
export const OUTCOME_INTERCEPTOR = outcomeInterceptor(false);

/** The same for handlers that answer HTTP requests themselves. Their return value says nothing about the response. */
export const ERROR_INTERCEPTOR = outcomeInterceptor(true);

function outcomeInterceptor(answersItself: boolean): OutcomeInterceptor {
  return {
    [BRAND]: true,
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const claimed = claimSettlement(context);
      if (claimed === undefined) return next.handle();
      const onlyErrors = answersItself && contextKindOf(context).isHttp;
      const end = { context, settle: claimed.settle, onlyErrors };
      return claimed.settlesAtEnd ? settledAtEnd(next.handle(), end) : settledAtStart(next.handle(), end);
    },
  };
}

/** How the end of a handler is settled. */
interface HandlerSettlement extends Pick<ClaimedSettlement, 'settle'> {
  readonly context: ExecutionContext;
  /** Whether all but errors is settled at the end of the response. */
  readonly onlyErrors: boolean;
}

/** Settles before the first value: a stream counts as a success with it. */
function settledAtStart(values: Observable<unknown>, { context, settle, onlyErrors }: HandlerSettlement) {
  return values.pipe(
    materialize(),
    concatMap((event, i) => (i === 0 ? from(settleBefore(event)) : of(event))),
    dematerialize(),
  );

  async function settleBefore(event: ObservableNotification<unknown>): Promise<typeof event> {
    if (event.kind === 'E' || !onlyErrors) await settle(endOf(event, context));
    return event;
  }
}

const GONE: HandlerEnd = { succeeded: false, error: undefined, isGone: true };

/** Settles after the last value, before the stream ends. If it is cut off, it counts as a success with its first value. */
function settledAtEnd(values: Observable<unknown>, { context, settle, onlyErrors }: HandlerSettlement) {
  let last: ObservableNotification<unknown> | undefined;
  let hasEnded = false;
  return values.pipe(
    materialize(),
    concatMap((event) => {
      if (event.kind !== 'N') return from(settleBefore(event));
      last = event;
      return of(event);
    }),
    dematerialize(),
    // without an end: the values are not needed any more
    finalize(() => {
      if (hasEnded || onlyErrors) return;
      if (last !== undefined) void settle({ ...endOf(last, context), isCut: true });
      // over HTTP, the response tells it
      else if (!contextKindOf(context).isHttp) void settle(GONE);
    }),
  );

  async function settleBefore(event: ObservableNotification<unknown>): Promise<typeof event> {
    hasEnded = true;
    const isError = event.kind === 'E';
    if (isError || !onlyErrors) {
      await settle({ ...endOf(last ?? event, context), isCut: isError && last !== undefined });
    }
    return event;
  }
}

function endOf(event: ObservableNotification<unknown>, context: ExecutionContext): HandlerEnd {
  if (event.kind === 'E') return { succeeded: false, error: event.error as unknown };
  const isFailure =
    event.kind === 'N' && event.value instanceof Error && contextKindOf(context).failsByReturnedError;
  if (isFailure) return { succeeded: false, error: event.value };
  return { succeeded: true, error: undefined, result: event.kind === 'N' ? event.value : undefined };
}

/**
 * Runs around message handlers that have a parameter with `@FreqLimitVerdict()` or `@FreqLimitCharge()`. If the message is a
 * plain value, the parameter has no object by which it could find the guard's decision.
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
