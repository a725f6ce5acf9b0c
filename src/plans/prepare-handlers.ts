import { addRawStreamFilter } from '../answers/raw-stream-filter.js';
import {
  ERROR_INTERCEPTOR,
  isOutcomeInterceptor,
  isVerdictInterceptor,
  OUTCOME_INTERCEPTOR,
  VERDICT_INTERCEPTOR,
} from '../decisions/outcome-interceptor.js';
import { addInterceptor, interceptorsOf, isRoute, sendsResponseItself } from '../nest/nest-metadata.js';
import type { PlannedHandler } from './plans.js';

/**
 * Gives handlers the interceptors and filters that their plans need: an interceptor if a rule has `countWhen` or `actualCost`,
 * one if a message handler has a parameter for its verdict or its charges, a filter for a raw stream of gRPC. Nest must not
 * have read the handlers yet, so call it while the application is instantiated; for resolvers, before `GraphQLModule` looks for
 * them.
 */
export function prepareHandlers(handlers: readonly PlannedHandler[]): void {
  for (const { classRef, name, method, plan } of handlers) {
    addRawStreamFilter(method);
    if ((plan.showsVerdict || plan.showsCharges) && !isRoute(method)) {
      addOnce(method, VERDICT_INTERCEPTOR, isVerdictInterceptor);
    }
    if (!plan.settlesByOutcome) continue;
    // around all others of the handler, so that it sees what they make of the response
    const interceptor = sendsResponseItself(classRef, name) ? ERROR_INTERCEPTOR : OUTCOME_INTERCEPTOR;
    addOnce(method, interceptor, isOutcomeInterceptor);
  }
}

/** Another application, or another class with the same method, may have added one. */
function addOnce(method: object, interceptor: unknown, isSame: (other: unknown) => boolean): void {
  if (!interceptorsOf(method).some(isSame)) addInterceptor(method, interceptor);
}
