import type { ExecutionContext, HttpException } from '@nestjs/common';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { ClientRequest } from '../core/request.js';

/**
 * How one kind of execution context is read and answered: `http`, `graphql`, `ws`, `rpc`, or whatever name another
 * library gives its own (`context.getType()`). What is left out of an adapter for a kind known here stays as it is.
 */
export interface ContextAdapter {
  /** What keys read. `undefined` where nothing is known of the caller. */
  readonly request?: (context: ExecutionContext) => ClientRequest | undefined;
  /**
   * The client's address, where `request` does not have it as `ip`.
   * @default the request's `ip`
   */
  readonly address?: (context: ExecutionContext) => string | undefined;
  /**
   * The HTTP platform's response, to set headers on.
   * @default none: answers carry no headers
   */
  readonly response?: (context: ExecutionContext) => unknown;
  /**
   * What is thrown instead of the HTTP exception that the guard would throw: a denial, or 400, 500 and 503.
   * @default the exception itself
   */
  readonly toError?: (exception: HttpException, context: ExecutionContext) => MaybePromise<Error>;
  /**
   * Whether visits come from clients, which have an address or hide it. Where they do not, as from a message broker, the
   * module's own rules by address leave them alone instead of counting all of them together.
   * @default true
   */
  readonly isClientFacing?: boolean;
  /**
   * The metadata key, or keys, with which a library marks the methods that it calls guards for. The key is looked up on
   * the method, and on its class under the method's name. Without it, start-up warns that limits on these methods have no
   * effect.
   * @default none; routes, message and event patterns, messages of gateways and resolvers are known
   */
  readonly handlerMetadata?: string | symbol | readonly (string | symbol)[];
}
