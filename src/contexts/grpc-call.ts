import type { ArgumentsHost } from '@nestjs/common';
import { parseAddress } from './client-address.js';
import type { ErrorPayload } from './error-payload.js';

/** The parts of a gRPC call that are used here. */
export interface GrpcCall {
  readonly metadata: Metadata;
  readonly cancelled?: boolean;
  getPeer(): string;
  emit(event: 'error', error: object): unknown;
}

interface Metadata {
  set(key: string, value: string): void;
}

/** The properties that gRPC reads from an error of a handler. */
interface GrpcError {
  /** The status. */
  readonly code: number;
  readonly message: string;
  /** Sent as trailers: `retry-after` in whole seconds. */
  readonly metadata: Metadata;
  readonly retryAfter?: number;
}

const RESOURCE_EXHAUSTED = 8;
const BRAND = Symbol.for('nestjs-freq-limit:grpc-denial');

/** The gRPC status for an HTTP status. An HTTP status that is not listed can only come from a denial. */
const CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  409: 10,
  429: RESOURCE_EXHAUSTED,
  500: 13,
  501: 12,
  503: 14,
  504: 4,
};

/** The call of a gRPC handler; `undefined` for other transports. */
export function grpcCallOf(context: ArgumentsHost): GrpcCall | undefined {
  // for a raw stream (`@GrpcStreamCall`) it is the first argument
  return [context.getArgByIndex<unknown>(2), context.getArgByIndex<unknown>(0)].find(isGrpcCall);
}

export function isGrpcCall(value: unknown): value is GrpcCall {
  const { getPeer, metadata } = Object(value) as Partial<GrpcCall>;
  return typeof getPeer === 'function' && typeof metadata?.set === 'function';
}

/** The address of the socket of a call, if there is one. */
export function peerAddressOf(call: GrpcCall): string | undefined {
  const peer = call.getPeer().replace(/^ipv[46]:/, '');
  // a port follows an IPv6 address without brackets
  return [peer.replace(/:\d+$/, ''), peer].find((text) => parseAddress(text) !== undefined);
}

/** The error for a call that is denied, or that cannot be decided. */
export function grpcErrorOf(
  { message, retryAfter }: ErrorPayload,
  statusCode: number,
  call: GrpcCall,
): GrpcError {
  // uses the class from the application's copy of grpc-js
  const metadata = new (call.metadata.constructor as new () => Metadata)();
  if (retryAfter !== undefined) metadata.set('retry-after', String(retryAfter));
  return {
    code: CODES[statusCode] ?? RESOURCE_EXHAUSTED,
    message,
    metadata,
    ...(retryAfter !== undefined && { retryAfter }),
  };
}

export function markGrpcError<E extends Error>(error: E): E {
  return Object.assign(error, { [BRAND]: true });
}

/** Whether a guard of this library has made the error, for a call of gRPC. */
export function isGrpcError(error: unknown): boolean {
  return BRAND in (Object(error) as object);
}
