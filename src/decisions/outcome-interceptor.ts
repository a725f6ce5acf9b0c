import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { from, type Observable, type ObservableNotification, of } from 'rxjs';
// before rxjs 7.2 its main entry has no operators
import { concatMap, dematerialize, materialize } from 'rxjs/operators';
import { interceptorsOf } from '../nest/nest-metadata.js';
import { claimSettlement, type End, runWithDecision } from './decisions.js';

const BRAND = Symbol.for('nestjs-freq-limit:outcome-interceptor');
const VERDICT_BRAND = Symbol.for('nestjs-freq-limit:verdict-interceptor');

type OutcomeInterceptor = NestInterceptor & { readonly [BRAND]: true };

/**
 * Stands around handlers with a rule that counts by how a visit ends, and tells the guard's decision of it before the
 * answer goes on. It knows nothing but the context, so one serves all applications of a process.
 */
export const OUTCOME_INTERCEPTOR = outcomeInterceptor(false);

/** The same for handlers that answer HTTP requests themselves: what they return tells nothing of how that goes. */
export const ERROR_INTERCEPTOR = outcomeInterceptor(true);

function outcomeInterceptor(answersItself: boolean): OutcomeInterceptor {
  return {
    [BRAND]: true,
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const settle = claimSettlement(context);
      if (settle === undefined) return next.handle();
      const onlyErrors = answersItself && context.getType() === 'http';
      return next.handle().pipe(
        materialize(),
        // a stream has ended well, as far as limits go, when it begins
        concatMap((event, i) => (i === 0 ? from(settled(event)) : of(event))),
        dematerialize(),
      );

      async function settled(event: ObservableNotification<unknown>): Promise<typeof event> {
        // what is left here the end of the response settles
        if (event.kind === 'E' || !onlyErrors) await settle?.(endOf(event, context));
        return event;
      }
    },
  };
}

function endOf(event: ObservableNotification<unknown>, context: ExecutionContext): End {
  if (event.kind === 'E') return { succeeded: false, error: event.error as unknown };
  // to GraphQL an error that a resolver returns is one that it throws
  const isFailure =
    event.kind === 'N' && event.value instanceof Error && context.getType<string>() === 'graphql';
  return isFailure ? { succeeded: false, error: event.value } : { succeeded: true, error: undefined };
}

/**
 * Stands around message handlers that ask for their verdict: a message of a plain value has nothing by which its
 * parameters could find what the guard has decided on it.
 */
export const VERDICT_INTERCEPTOR: NestInterceptor & { readonly [VERDICT_BRAND]: true } = {
  [VERDICT_BRAND]: true,
  intercept: (context, next) => runWithDecision(context, () => next.handle()),
};

/** Whether our interceptor observes the outcome of a handler. It must be added before Nest reads the handler. */
export function observesOutcome(method: object): boolean {
  return interceptorsOf(method).some(isOutcomeInterceptor);
}

/** Whether it stands there already, put by another application or another copy of this package. */
export function isOutcomeInterceptor(interceptor: unknown): boolean {
  return BRAND in (Object(interceptor) as object);
}

/** The same of the other one. */
export function isVerdictInterceptor(interceptor: unknown): boolean {
  return VERDICT_BRAND in (Object(interceptor) as object);
}
