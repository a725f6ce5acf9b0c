import type { NestInterceptor } from '@nestjs/common';
import 'reflect-metadata';
import { answerRawStream } from '../answers/raw-stream-filter.js';
import { documentDenials } from './open-api.js';
import {
  ERROR_INTERCEPTOR,
  isOutcomeInterceptor,
  isVerdictInterceptor,
  OUTCOME_INTERCEPTOR,
  VERDICT_INTERCEPTOR,
} from '../decisions/outcome-interceptor.js';
import { addInterceptor, interceptorsOf } from '../nest/nest-metadata.js';
import type { ResolvedOptions } from '../freq-limit.options.js';
import type { HandlerPlan } from './plans.js';

/** Where Nest keeps a route's path. */
const PATH = 'path';
/** Where Nest keeps what a handler's parameters are, by `kind:index`, and whether `@Res()` leaves the answer to Nest. */
const ROUTE_ARGUMENTS = '__routeArguments__';
const PASSTHROUGH = '__responsePassthrough__';
const RESPONSE_OR_NEXT = /^[12]:/;

/**
 * Gives handlers what Nest and OpenAPI read from them: an interceptor where a rule counts by how a visit ends, one where
 * a message handler asks for its verdict, and the description of a denial. It must be done before routes are made and
 * documents are written, thus while the application is put together.
 */
export function prepareHandlers(handlers: readonly HandlerPlan[], options: ResolvedOptions): void {
  for (const handler of handlers) {
    const { method, plan } = handler;
    answerRawStream(method);
    if (plan.showsVerdict && !Reflect.hasMetadata(PATH, method)) {
      putAround(method, VERDICT_INTERCEPTOR, isVerdictInterceptor);
    }
    if (!plan.hasCountWhen) continue;
    // around all others of the handler, so that it sees what they make of its answer
    const outcome = answersItself(handler) ? ERROR_INTERCEPTOR : OUTCOME_INTERCEPTOR;
    putAround(method, outcome, isOutcomeInterceptor);
  }
  documentDenials(handlers, options);
}

function putAround(method: object, interceptor: NestInterceptor, isThere: (other: unknown) => boolean): void {
  if (!interceptorsOf(method).some(isThere)) addInterceptor(method, interceptor);
}

/** Whether a handler asks for the response or for `next`, and Nest leaves the answer to it. */
function answersItself({ classRef, name }: HandlerPlan): boolean {
  if (Reflect.getMetadata(PASSTHROUGH, classRef, name) === true) return false;
  const kinds = Object.keys((Reflect.getMetadata(ROUTE_ARGUMENTS, classRef, name) ?? {}) as object);
  return kinds.some((kind) => RESPONSE_OR_NEXT.test(kind));
}
