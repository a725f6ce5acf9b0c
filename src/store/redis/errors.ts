import { FreqLimitError, formatError } from '../../core/errors.js';
import { describe } from './error-hints.js';
import type { Failure } from './breaker.js';
import { withoutCommand } from './without-command.js';

/** A client that would keep for later what it is asked now. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
}

export function toFailure(error: unknown): FreqLimitError {
  const message = `Redis gave no answer: ${describe(error)}`;
  return new FreqLimitError('FREQ_LIMIT_STORE_FAILED', message, { cause: withoutCommand(error) });
}

export function kindOf(error: unknown): Failure {
  if (isRefusal(error) || error instanceof NotReadyError) return 'permanent';
  return isDisconnect(error) ? 'disconnected' : 'timeout';
}

/** The connection was lost, or there is none at the moment. */
function isDisconnect(error: unknown): boolean {
  return /Connection is closed|max retries per request/.test(formatError(error));
}

/** The server itself has said no. */
function isRefusal(error: unknown): boolean {
  return (Object(error) as { readonly name?: unknown }).name === 'ReplyError';
}

/** The keys of one slot are on their way from one server to another. Nothing was run. */
export function isMoving(error: unknown): boolean {
  return /TRYAGAIN|Too many Cluster redirections.*(MOVED|ASK|CLUSTERDOWN)/.test(formatError(error));
}

/** `maxmemory` is reached, and nothing may be evicted. */
export function isFull(error: unknown): boolean {
  return /^\W?OOM\b|: -?OOM\b/.test(formatError(error));
}

/** The value of a key is not a counter. All other errors concern the server, whatever the key. */
export function isAboutKey(error: unknown): boolean {
  return /WRONGTYPE|not an integer|out of range|would overflow/.test(formatError(error));
}
