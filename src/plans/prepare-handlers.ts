import { addRawStreamFilter } from '../answers/raw-stream-filter.js';
import {
  ERROR_INTERCEPTOR,
  isOutcomeInterceptor,
  isVerdictInterceptor,
  OUTCOME_INTERCEPTOR,
  VERDICT_INTERCEPTOR,
} from '../decisions/outcome-interceptor.js';
import { isLeaseInterceptor, LEASE_INTERCEPTOR } from '../leases/lease-interceptor.js';
import {
  addInterceptor,
  hasPattern,
  interceptorsOf,
  isRoute,
  sendsResponseItself,
} from '../nest/nest-metadata.js';
import type { PlannedHandler } from './plans.js';

/**
 * Gives handlers the interceptors and filters that their plans need: an interceptor if a rule has `countWhen` or `actualCost`,
 * one if a rule of a message handler or a resolver has `concurrency`, one if a message handler has a parameter for its verdict
 * or its charges, a filter for a raw stream of gRPC. Nest must not have read the handlers yet, so call it while the application
 * is instantiated; for resolvers, before `GraphQLModule` looks for them.
 */
export function prepareHandlers(handlers: readonly PlannedHandler[]): void {
  for (const handler of handlers) {
    const { classRef, name, method, plan } = handler;
    addRawStreamFilter(method);
    if ((plan.showsVerdict || plan.showsCharges) && !isRoute(method)) {
      addOnce(method, VERDICT_INTERCEPTOR, isVerdictInterceptor);
    }
    if (plan.settlesByOutcome) {
      // around all others of the handler, so that it sees what they make of the response
      const interceptor = sendsResponseItself(classRef, name) ? ERROR_INTERCEPTOR : OUTCOME_INTERCEPTOR;
      addOnce(method, interceptor, isOutcomeInterceptor);
    }
    if (plan.hasLeases && needsEndOfResult(handler)) addOnce(method, LEASE_INTERCEPTOR, isLeaseInterceptor);
  }
}

/** The end of a route's requests is the end of their response. */
function needsEndOfResult({ kind, method }: PlannedHandler): boolean {
  return kind !== 'route' || hasPattern(method);
}

/** Another application, or another class with the same method, may have added one. */
function addOnce(method: object, interceptor: unknown, isSame: (other: unknown) => boolean): void {
  if (!interceptorsOf(method).some(isSame)) addInterceptor(method, interceptor);
}
