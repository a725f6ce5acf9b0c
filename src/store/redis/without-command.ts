import { types } from 'node:util';

/** Errors inside errors: how deep they are followed. */
const MAX_DEPTH = 4;
const MAX_ERRORS = 16;
const NESTED = ['cause', 'lastNodeError'] as const;

/** A server that does not know a command repeats its arguments, and keys are among them. */
const ARGUMENTS = /,? with args beginning with:.*$/s;

/**
 * A copy of an error of the client without the command: ioredis keeps its arguments on the error, with the keys in the
 * clear, and error reporters send whatever an error holds. The copy keeps the class, name, message, stack, plain
 * properties such as `code`, and the errors inside.
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

/** Of any realm: a test runner's errors are not of Node's class. */
function isError(error: unknown): error is Error {
  return types.isNativeError(error);
}

function isPlain(value: unknown): boolean {
  return value === null || !['object', 'function'].includes(typeof value);
}
