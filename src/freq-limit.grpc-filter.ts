import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import 'reflect-metadata';
import { type Observable, of } from 'rxjs';
import { type GrpcCall, isGrpcRefusal } from './contexts/grpc-call.js';
import { isFreqLimitExceeded } from './freq-limit.exception.js';

/** Where Nest keeps what `@UseFilters` says of a handler, and the patterns of a message handler. */
const FILTERS = '__exceptionFilters__';
const PATTERN = 'microservices:pattern';
/** What Nest calls a stream that `@GrpcStreamCall` leaves to its handler. */
const RAW_STREAM = 'pt_stream';

const FILTER_BRAND = Symbol.for('nestjs-freq-limit:grpc-filter');

type Callback = (error: object) => void;

/** Whatever the guard throws, in the eyes of Nest, which asks `instanceof`. */
abstract class ThrownByGuard extends Error {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isGrpcRefusal(error) || isFreqLimitExceeded(error);
  }
}

/**
 * Answers the call of a raw stream that the guard does not let through. Nest leaves the answer to the handler, which is
 * not called then: the client would wait until its deadline, and the rejection that is left would end the process.
 */
@Catch(ThrownByGuard)
class RawStreamFilter implements ExceptionFilter<object> {
  readonly [FILTER_BRAND] = true;

  catch(exception: object, host: ArgumentsHost): Observable<undefined> {
    const [call, callback] = host.getArgs<[GrpcCall, Callback?]>();
    const { getError } = exception as { readonly getError?: () => unknown };
    const told: unknown = typeof getError === 'function' ? getError.call(exception) : exception;
    const error = typeof told === 'object' && told !== null ? told : { message: String(told) };
    if (callback === undefined) call.emit('error', error);
    else callback(error);
    return of(undefined);
  }
}

/** Puts the filter before all others of a handler that answers a raw stream. */
export function answerRawStream(method: object): void {
  if (!isRawStream(method)) return;
  const others = (Reflect.getMetadata(FILTERS, method) ?? []) as readonly unknown[];
  if (others.some((other) => FILTER_BRAND in (Object(other) as object))) return;
  // Nest asks the last one first
  Reflect.defineMetadata(FILTERS, [...others, new RawStreamFilter()], method);
}

function isRawStream(method: object): boolean {
  const patterns = (Reflect.getMetadata(PATTERN, method) ?? []) as readonly unknown[];
  return patterns.some((pattern) => (Object(pattern) as { streaming?: unknown }).streaming === RAW_STREAM);
}
