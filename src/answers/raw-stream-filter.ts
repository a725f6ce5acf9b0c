import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import 'reflect-metadata';
import { type Observable, of } from 'rxjs';
import { type GrpcCall, isGrpcDenial } from '../contexts/grpc-call.js';
import { isFreqLimitExceeded } from './freq-limit.exception.js';

/** The metadata keys of Nest's `@UseFilters`, and of the patterns of a message handler. */
const FILTERS = '__exceptionFilters__';
const PATTERN = 'microservices:pattern';
/** Nest's name for a raw stream: a handler with `@GrpcStreamCall`. */
const RAW_STREAM = 'pt_stream';

const FILTER_BRAND = Symbol.for('nestjs-freq-limit:grpc-filter');

type Callback = (error: object) => void;

/** Matches every error of the guard for a gRPC call. Nest selects filters with `instanceof`. */
abstract class ThrownByGuard extends Error {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isGrpcDenial(error) || isFreqLimitExceeded(error);
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
export function answerRawStream(method: object): void {
  if (!isRawStream(method)) return;
  const others = (Reflect.getMetadata(FILTERS, method) ?? []) as readonly unknown[];
  if (others.some((other) => FILTER_BRAND in (Object(other) as object))) return;
  // Nest tries the last one first
  Reflect.defineMetadata(FILTERS, [...others, new RawStreamFilter()], method);
}

function isRawStream(method: object): boolean {
  const patterns = (Reflect.getMetadata(PATTERN, method) ?? []) as readonly unknown[];
  return patterns.some((pattern) => (Object(pattern) as { streaming?: unknown }).streaming === RAW_STREAM);
}
