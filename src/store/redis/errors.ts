import { FreqLimitError, formatError } from '../../core/errors.js';
import type { FailureKind } from './breaker.js';
import { describeError } from './error-hints.js';
import { type ErrorKind, knownError } from './known-errors.js';
import { UnexpectedReplyError } from './reply-values.js';
import { withoutCommand } from './without-command.js';

/** A call was not sent, because the client would queue it. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
}

/** An error of the server in the reply of a script. Has the name that ioredis gives to errors of the server. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/** The error of the store for any error of a call. */
export function toFailure(error: unknown): FreqLimitError {
  if (error instanceof FreqLimitError) return error;
  const cause = withoutCommand(error);
  return new FreqLimitError('FREQ_LIMIT_STORE_FAILED', `${problemOf(error)}: ${describeError(error)}`, {
    cause,
  });
}

function problemOf(error: unknown): string {
  if (isRefusedHandshake(error)) return 'Redis refused the connection';
  if (isReplyError(error)) return 'Redis returned an error';
  return error instanceof UnexpectedReplyError
    ? 'Redis returned an unexpected reply'
    : 'Redis did not answer';
}

export function failureKindOf(error: unknown): FailureKind {
  if (isReplyError(error) || error instanceof NotReadyError) return 'permanent';
  return isDisconnect(error) ? 'disconnected' : 'timeout';
}

/** The server itself has returned the error. */
function isReplyError(error: unknown): boolean {
  return (Object(error) as { readonly name?: unknown }).name === 'ReplyError';
}

/** The connection was lost, or there is none at the moment. */
export function isDisconnect(error: unknown): boolean {
  return /Connection is closed|max retries per request/.test(formatError(error));
}

/** Whether an operator must fix the cause of an error; `undefined` if that is not known. */
export function errorKindOf(error: unknown): ErrorKind | undefined {
  const kind = knownError(formatError(error))?.kind;
  return kind !== 'outage' && isRefusedHandshake(error) ? 'refused' : kind;
}

/** Why a connection may not be used. Without an error, nothing is known but that. */
export function connectionProblem(error: unknown): string {
  if (error === undefined) return 'Redis cannot be reached: the server does not answer';
  const problem =
    errorKindOf(error) === 'refused' ? 'Redis refused the connection' : 'Redis cannot be reached';
  return `${problem}: ${describeError(error)}`;
}

/** Whether the server has refused AUTH, HELLO or SELECT. Another attempt is unlikely to succeed. */
function isRefusedHandshake(error: unknown): boolean {
  const { command } = Object(error) as { readonly command?: { readonly name?: unknown } };
  return isReplyError(error) && ['auth', 'hello', 'select'].includes(String(command?.name).toLowerCase());
}

/** The keys of one slot are moving from one server to another. Nothing was run. */
export function isMoving(error: unknown): boolean {
  return /TRYAGAIN|Too many Cluster redirections.*(MOVED|ASK|CLUSTERDOWN)/.test(formatError(error));
}

/** The server has reached `maxmemory`, and may not evict keys. */
export function isFull(error: unknown): boolean {
  return /^\W?OOM\b|: -?OOM\b/.test(formatError(error));
}

/** The value of a key is not a counter. All other errors concern the server, whatever the key is. */
export function isAboutKey(error: unknown): boolean {
  return /WRONGTYPE|not an integer|out of range|would overflow/.test(formatError(error));
}
