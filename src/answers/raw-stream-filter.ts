import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { type Observable, of } from 'rxjs';
import { type GrpcCall, isGrpcError } from '../contexts/grpc-call.js';
import { isFreqLimitExceeded } from './freq-limit.exception.js';
import { addFilter, filtersOf, isRawStream } from '../nest/nest-metadata.js';

const FILTER_BRAND = Symbol.for('nestjs-freq-limit:grpc-filter');

type Callback = (error: object) => void;

/** Matches every error of the guard for a gRPC call. Nest selects filters with `instanceof`. */
abstract class ThrownByGuard extends Error {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isGrpcError(error) || isFreqLimitExceeded(error);
  }
}

/**
 * Ends the call of a raw stream that the guard denies. Nest leaves ending the call to the handler, which is not called then:
 * the client would wait until its deadline, and the unhandled rejection would end the process.
 */
@Catch(ThrownByGuard)
class RawStreamFilter implements ExceptionFilter<object> {
  readonly [FILTER_BRAND] = true;

  catch(exception: object, host: ArgumentsHost): Observable<undefined> {
    const [call, callback] = host.getArgs<[GrpcCall, Callback?]>();
    const { getError } = exception as { readonly getError?: () => unknown };
    const thrown: unknown = typeof getError === 'function' ? getError.call(exception) : exception;
    const error = typeof thrown === 'object' && thrown !== null ? thrown : { message: String(thrown) };
    if (callback === undefined) call.emit('error', error);
    else callback(error);
    return of(undefined);
  }
}

/** Adds the filter to a handler of a raw stream. It runs before all other filters. */
export function addRawStreamFilter(method: object): void {
  if (!isRawStream(method)) return;
  if (filtersOf(method).some((other) => FILTER_BRAND in (Object(other) as object))) return;
  addFilter(method, new RawStreamFilter());
}
