import type { NestInterceptor } from '@nestjs/common';
import 'reflect-metadata';
import { documentDenial } from './freq-limit.open-api.js';
import {
  isOutcomeInterceptor,
  isVerdictInterceptor,
  OUTCOME_INTERCEPTOR,
  VERDICT_INTERCEPTOR,
} from './freq-limit.interceptor.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import type { FreqLimitPlans } from './freq-limit.plans.js';

/** Where Nest keeps what `@UseInterceptors` says of a handler. */
const INTERCEPTORS = '__interceptors__';
/** Where Nest keeps a route's path. */
const PATH = 'path';

/**
 * Gives handlers what Nest and OpenAPI read from them: an interceptor where a rule counts by how a visit ends, one where
 * a message handler asks for its verdict, and the description of a denial. It must be done before routes are made and
 * documents are written, thus while the application is put together.
 */
export function prepareHandlers(plans: FreqLimitPlans, options: ResolvedOptions): void {
  for (const { classRef, method, plan } of plans.handlers()) {
    if (plan.showsVerdict && !Reflect.hasMetadata(PATH, method))
      putAround(method, VERDICT_INTERCEPTOR, isVerdictInterceptor);
    // around all others of the handler, so that it sees what they make of its answer
    if (plan.settles) putAround(method, OUTCOME_INTERCEPTOR, isOutcomeInterceptor);
    documentDenial(classRef, method, plan, options);
  }
}

function putAround(method: object, interceptor: NestInterceptor, isThere: (other: unknown) => boolean): void {
  const others = (Reflect.getMetadata(INTERCEPTORS, method) ?? []) as readonly unknown[];
  if (others.some(isThere)) return;
  Reflect.defineMetadata(INTERCEPTORS, [interceptor, ...others], method);
}
