import { FreqLimitError, showError } from '../../core/errors.js';
import { advised } from './advice.js';
import type { Failure } from './breaker.js';
import { withoutCommand } from './without-command.js';

/** A client that would keep for later what it is asked now. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';

  constructor(status: string) {
    super(`the connection is not ready, but ${status}`);
  }
}

export function toFailure(error: unknown): FreqLimitError {
  const cause = withoutCommand(error);
  const message = `Redis gave no answer: ${advised(showError(cause))}`;
  return new FreqLimitError('FREQ_LIMIT_STORE_FAILED', message, { cause });
}

export function kindOf(error: unknown): Failure {
  if (isRefusal(error) || error instanceof NotReadyError) return 'sure';
  return showError(error).includes('Connection is closed') ? 'at once' : 'late';
}

/** The server itself has said no. */
export function isRefusal(error: unknown): boolean {
  return (Object(error) as { readonly name?: unknown }).name === 'ReplyError';
}

/** The keys of one slot are on their way from one server to another. Nothing was run. */
export function isMoving(error: unknown): boolean {
  return /TRYAGAIN|Too many Cluster redirections.*(MOVED|ASK|CLUSTERDOWN)/.test(showError(error));
}

/** `maxmemory` is reached, and nothing may be evicted. */
export function isFull(error: unknown): boolean {
  return /^\W?OOM\b|: -?OOM\b/.test(showError(error));
}
