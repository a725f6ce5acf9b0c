import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import {
  concatMap,
  dematerialize,
  from,
  materialize,
  type Observable,
  type ObservableNotification,
  of,
} from 'rxjs';
import { type End, take, withKept } from './contexts/invocations.js';

const BRAND = Symbol.for('nestjs-freq-limit:outcome-interceptor');
const VERDICT_BRAND = Symbol.for('nestjs-freq-limit:verdict-interceptor');

/**
 * Stands around handlers with a rule that counts by how a visit ends, and tells the guard's decision of it before the
 * answer goes on. It knows nothing but the context, so one serves all applications of a process.
 */
export const OUTCOME_INTERCEPTOR: NestInterceptor & { readonly [BRAND]: true } = {
  [BRAND]: true,
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const settle = take(context)?.settle;
    if (settle === undefined) return next.handle();
    return next.handle().pipe(
      materialize(),
      // a stream has ended well, as far as limits go, when it begins
      concatMap((event, i) => (i === 0 ? from(settled(event)) : of(event))),
      dematerialize(),
    );

    async function settled(event: ObservableNotification<unknown>): Promise<ObservableNotification<unknown>> {
      await settle?.(endOf(event));
      return event;
    }
  },
};

function endOf(event: ObservableNotification<unknown>): End {
  return event.kind === 'E'
    ? { succeeded: false, error: event.error as unknown }
    : { succeeded: true, error: undefined };
}

/**
 * Stands around message handlers that ask for their verdict: a message of a plain value has nothing by which its
 * parameters could find what the guard has decided on it.
 */
export const VERDICT_INTERCEPTOR: NestInterceptor & { readonly [VERDICT_BRAND]: true } = {
  [VERDICT_BRAND]: true,
  intercept: (context, next) => withKept(context, () => next.handle()),
};

/** Whether it stands there already, put by another application or another copy of this package. */
export function isOutcomeInterceptor(interceptor: unknown): boolean {
  return BRAND in (Object(interceptor) as object);
}

/** The same of the other one. */
export function isVerdictInterceptor(interceptor: unknown): boolean {
  return VERDICT_BRAND in (Object(interceptor) as object);
}
