/** How much of a stack is read: its message may be as long as a client likes. */
const MAX_STACK = 32_768;
const MAX_NAME = 200;
const MAX_LINE = 400;
const MAX_FRAMES = 20;

/** Matches `    at Class.method (app/a.js:1:2)`, and nothing that could be a sentence. */
const FRAME =
  /^ {4}at (?:(?:async |new )?[\w$.<>#]{1,120}(?: \[as [\w$.<>#]{1,60}\])? \(?)?(?:[a-z][a-z+-]{1,20}:|\/|[A-Za-z]:\\)[^\s()]{1,300}:\d{1,7}:\d{1,7}\)?$/;

const LIBRARY = /[\\/]node_modules[\\/]|\(?node:/;

/**
 * The lines of an error's stack that name a place in code; `undefined` if there are none. The rest of a stack is the
 * message, which may contain line breaks and lines that a client has written.
 */
export function framesOf(error: unknown): string | undefined {
  const { stack, message } = Object(error) as { readonly stack?: unknown; readonly message?: unknown };
  if (typeof stack !== 'string') return undefined;
  const frames = withoutMessage(stack, message)
    .split('\n')
    .filter((line) => line.length <= MAX_LINE && FRAME.test(line))
    .slice(0, MAX_FRAMES);
  return frames.length === 0 ? undefined : frames.join('\n');
}

/**
 * Gives an error a new stack, without the frames of libraries: for a mistake of the user they are of no help. If none is left,
 * it has the first of them.
 * @param entry the function of this library that was called from outside
 */
export function shortenStack(error: Error, entry: (this: never, ...args: never[]) => unknown): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = MAX_FRAMES;
  Error.captureStackTrace(error, entry);
  Error.stackTraceLimit = stackTraceLimit;
  const frames = framesOf(error)?.split('\n') ?? [];
  const own = frames.filter((frame) => !LIBRARY.test(frame));
  error.stack = [String(error), ...(own.length > 0 ? own : frames.slice(0, 1))].join('\n');
}

/** A bounded part of the stack, without the message. If the message changed after the stack was made, this is the stack's end. */
function withoutMessage(stack: string, message: unknown): string {
  const start = stack.slice(0, MAX_NAME).indexOf(': ') + 2;
  return typeof message === 'string' && message !== '' && start > 1 && stack.startsWith(message, start)
    ? stack.slice(start + message.length, start + message.length + MAX_STACK)
    : stack.slice(-MAX_STACK);
}
