import type { ExecutionContext, NestInterceptor } from '@nestjs/common';
import { defer, type Observable } from 'rxjs';
// before rxjs 7.2 its main entry has no operators
import { finalize, map } from 'rxjs/operators';
import { interceptorsOf } from '../nest/nest-metadata.js';
import { claimLeases } from './claims.js';
import { isAsyncIterable, withEnd } from './iterator-end.js';

const BRAND = Symbol.for('nestjs-freq-limit:lease-interceptor');

/**
 * Runs around handlers with `concurrency` that do not answer HTTP requests, and releases their slots when their result ends.
 * It uses nothing but the context, so one instance serves all applications of a process.
 */
export const LEASE_INTERCEPTOR: NestInterceptor & { readonly [BRAND]: true } = {
  [BRAND]: true,
  intercept(context, next) {
    const result = next.handle();
    // not before: Nest subscribes later, or never if an outer interceptor has its answer
    return defer(() => {
      const claimed = claimLeases(context);
      if (claimed.length === 0) return result;
      return releasedAtEnd(result, context, () => {
        for (const leases of claimed) leases.release();
      });
    });
  },
};

/** The result of a GraphQL subscription is an iterator, which ends later than the handler. */
function releasedAtEnd(
  result: Observable<unknown>,
  context: ExecutionContext,
  release: () => void,
): Observable<unknown> {
  // others iterate no result: one that is iterable, such as a stream, is a value like any other
  const isGraphql = context.getType<string>() === 'graphql';
  let iterators = 0;
  return result.pipe(
    map((value) => {
      if (!isGraphql || !isAsyncIterable(value)) return value;
      iterators++;
      return withEnd(value, release);
    }),
    finalize(() => {
      if (iterators === 0) release();
    }),
  );
}

/** Whether this interceptor runs around a handler. It must be added before Nest reads the handler. */
export function observesEnd(method: object): boolean {
  return interceptorsOf(method).some(isLeaseInterceptor);
}

/** Whether it is a lease interceptor, also one of another copy of this package. */
export function isLeaseInterceptor(interceptor: unknown): boolean {
  return BRAND in (Object(interceptor) as object);
}
