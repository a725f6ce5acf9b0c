import 'reflect-metadata';
import { documentDenial } from './freq-limit.open-api.js';
import { isOutcomeInterceptor, OUTCOME_INTERCEPTOR } from './freq-limit.interceptor.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import type { FreqLimitPlans } from './freq-limit.plans.js';

/** Where Nest keeps what `@UseInterceptors` says of a handler. */
const INTERCEPTORS = '__interceptors__';

/**
 * Gives handlers what Nest and OpenAPI read from them: an interceptor where a rule counts by how a visit ends, and the
 * description of a denial. It must be done before routes are made and documents are written, thus while the application
 * is put together.
 */
export function prepareHandlers(plans: FreqLimitPlans, options: ResolvedOptions): void {
  for (const { classRef, method, plan } of plans.handlers()) {
    if (plan.settles) watchOutcome(method);
    documentDenial(classRef, method, plan, options);
  }
}

/** Around all others of the handler, so that it sees what they make of its answer. */
function watchOutcome(method: object): void {
  const others = (Reflect.getMetadata(INTERCEPTORS, method) ?? []) as readonly unknown[];
  if (others.some(isOutcomeInterceptor)) return;
  Reflect.defineMetadata(INTERCEPTORS, [OUTCOME_INTERCEPTOR, ...others], method);
}
