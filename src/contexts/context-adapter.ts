import type { ExecutionContext, HttpException } from '@nestjs/common';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { ClientRequest } from '../core/request.js';

/**
 * How the guard reads and answers one kind of execution context: `http`, `graphql`, `ws`, `rpc`, or the name that another
 * library uses (`context.getType()`). For the four known kinds, each property that you leave out keeps its default.
 */
export interface ContextAdapter {
  /** Returns the values that keys read; `undefined` if nothing is known about the request. */
  readonly request?: (context: ExecutionContext) => ClientRequest | undefined;
  /**
   * Returns the client's address, if `request` does not return it as `ip`.
   * @default the request's `ip`
   */
  readonly address?: (context: ExecutionContext) => string | undefined;
  /**
   * Returns the HTTP platform's response, on which headers are set.
   * @default none: no headers are set
   */
  readonly response?: (context: ExecutionContext) => unknown;
  /**
   * Returns the error to throw instead of the guard's HTTP exception: a denial, or 400, 500 or 503. If it fails or returns
   * nothing, the guard throws the HTTP exception and logs `FREQ_LIMIT_ADAPTER_FAILED`.
   * @default the exception itself
   */
  readonly toError?: (exception: HttpException, context: ExecutionContext) => MaybePromise<Error>;
  /**
   * Whether requests come from clients, with or without a known address. If `false`, as for messages from a broker, the
   * module's `rules` ignore requests without an address instead of counting all of them together.
   * @default true
   */
  readonly isClientFacing?: boolean;
  /**
   * The metadata keys with which a library marks the methods that it calls guards for. A key is looked up on the method,
   * and on its class under the method's name. Without it, a warning at start-up says that limits on these methods have no
   * effect.
   * @default none; routes, message and event patterns, gateway messages and resolvers are known
   */
  readonly handlerMetadata?: string | symbol | readonly (string | symbol)[];
}
