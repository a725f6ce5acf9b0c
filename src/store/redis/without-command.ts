import { types } from 'node:util';

/** How deep nested errors are copied. */
const MAX_DEPTH = 4;
const MAX_ERRORS = 16;
const NESTED = ['cause', 'lastNodeError'] as const;

/** For an unknown command a server repeats its arguments, and these include keys. */
export const ARGUMENTS = /,? with args beginning with.*$/s;

/**
 * A copy of a client error without the command. ioredis stores the command's arguments on the error, with unhashed keys, and
 * error reporters send all properties of an error. The copy keeps the class, name, message, stack, plain properties such as
 * `code`, and nested errors.
 */
export function withoutCommand(error: unknown, depth = 0): unknown {
  if (!isError(error)) return isPlain(error) ? error : undefined;
  const message = error.message.replace(ARGUMENTS, '');
  const copy = new Error(message);
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error) as object);
  define(
    copy,
    'stack',
    error.stack?.replace(error.message, () => message),
  );
  for (const [name, value] of Object.entries(error)) {
    if (isPlain(value) && name !== 'stack' && name !== 'message') define(copy, name, value, true);
  }
  if (depth < MAX_DEPTH) copyNested(error, copy, depth + 1);
  return copy;
}

function copyNested(error: Error, copy: Error, depth: number): void {
  const { errors, ...inner } = error as Error & {
    readonly errors?: unknown;
    readonly lastNodeError?: unknown;
  };
  const found: Readonly<Record<string, unknown>> = { ...inner, cause: error.cause };
  for (const name of NESTED) {
    if (found[name] !== undefined) define(copy, name, withoutCommand(found[name], depth));
  }
  if (Array.isArray(errors)) {
    define(
      copy,
      'errors',
      errors.slice(0, MAX_ERRORS).map((one: unknown) => withoutCommand(one, depth)),
    );
  }
}

function define(error: Error, name: string, value: unknown, enumerable = false): void {
  Object.defineProperty(error, name, { value, enumerable, configurable: true, writable: true });
}

/** Works for any realm: errors of a test runner are not instances of Node's `Error`. */
function isError(error: unknown): error is Error {
  return types.isNativeError(error);
}

function isPlain(value: unknown): boolean {
  return value === null || !['object', 'function'].includes(typeof value);
}
