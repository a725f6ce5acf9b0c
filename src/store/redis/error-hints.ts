import { formatError } from '../../core/errors.js';
import { knownError } from './known-errors.js';
import { ARGUMENTS } from './without-command.js';

/** The same error of HELLO as of other commands, but with a long text about HELLO. */
const NO_LOGIN = /^NOAUTH HELLO must be called.*$/s;
/** Shorter arguments are not personal data, and may be part of any message. */
const MIN_ARGUMENT_LENGTH = 6;

/** An error of a server or a client as one line for logs, with a hint on what to do if there is one. */
export function describeError(error: unknown): string {
  return withHint(formatError(withoutArguments(error)));
}

/** Adds a hint on what to do to a message, if there is one. */
export function withHint(message: string): string {
  const known = knownError(message);
  return known === undefined ? message : `${message} (${known.hint})`;
}

/** Error messages of servers may contain arguments of the command, and those include keys with addresses and phone numbers. */
function withoutArguments(error: unknown): unknown {
  const { message, code, command } = Object(error) as {
    readonly message?: unknown;
    readonly code?: unknown;
    readonly command?: { readonly args?: unknown };
  };
  if (typeof message !== 'string') return error;
  let text = message.replace(ARGUMENTS, '').replace(NO_LOGIN, 'NOAUTH Authentication required.');
  const args = Array.isArray(command?.args) ? (command.args as unknown[]) : [];
  for (const arg of args)
    if (typeof arg === 'string' && arg.length >= MIN_ARGUMENT_LENGTH) text = text.replaceAll(arg, '…');
  return { message: text, code };
}
