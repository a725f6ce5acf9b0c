import 'reflect-metadata';
import { documentDenials } from './freq-limit.open-api.js';
import { ERROR_INTERCEPTOR, isOutcomeInterceptor, OUTCOME_INTERCEPTOR } from './freq-limit.interceptor.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import type { FreqLimitPlans, HandlerPlan } from './freq-limit.plans.js';

/** Where Nest keeps what `@UseInterceptors` says of a handler. */
const INTERCEPTORS = '__interceptors__';
/** Where Nest keeps what a handler's parameters are, by `kind:index`, and whether `@Res()` leaves the answer to Nest. */
const ROUTE_ARGUMENTS = '__routeArguments__';
const PASSTHROUGH = '__responsePassthrough__';
const RESPONSE_OR_NEXT = /^[12]:/;

/**
 * Gives handlers what Nest and OpenAPI read from them: an interceptor where a rule counts by how a visit ends, and the
 * description of a denial. It must be done before routes are made and documents are written, thus while the application
 * is put together.
 */
export function prepareHandlers(plans: FreqLimitPlans, options: ResolvedOptions): void {
  const handlers = plans.handlers();
  for (const handler of handlers) if (handler.plan.settles) watchOutcome(handler);
  documentDenials(handlers, options);
}

/** Around all others of the handler, so that it sees what they make of its answer. */
function watchOutcome(handler: HandlerPlan): void {
  const { method } = handler;
  const others = (Reflect.getMetadata(INTERCEPTORS, method) ?? []) as readonly unknown[];
  if (others.some(isOutcomeInterceptor)) return;
  const ours = answersItself(handler) ? ERROR_INTERCEPTOR : OUTCOME_INTERCEPTOR;
  Reflect.defineMetadata(INTERCEPTORS, [ours, ...others], method);
}

/** Whether a handler asks for the response or for `next`, and Nest leaves the answer to it. */
function answersItself({ classRef, name }: HandlerPlan): boolean {
  if (Reflect.getMetadata(PASSTHROUGH, classRef, name) === true) return false;
  const kinds = Object.keys((Reflect.getMetadata(ROUTE_ARGUMENTS, classRef, name) ?? {}) as object);
  return kinds.some((kind) => RESPONSE_OR_NEXT.test(kind));
}
