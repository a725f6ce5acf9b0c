/** What went wrong. A code keeps its meaning in later versions. */
export type FreqLimitErrorCode =
  /** Options of the module, or of the health indicator, are wrong. Thrown when the application starts, or by the call. */
  | 'FREQ_LIMIT_INVALID_OPTIONS'
  /**
   * A rule is wrong, and perhaps options of the module too, or a decorator is in a wrong place. Thrown when the application
   * starts or a class is loaded.
   */
  | 'FREQ_LIMIT_INVALID_RULE'
  /** A method of `FreqLimitService`, or `settle`, got a wrong argument. Nothing was counted. */
  | 'FREQ_LIMIT_INVALID_CHECK'
  /** A function of a rule threw, or returned a value that the rule cannot use. Nothing was counted. */
  | 'FREQ_LIMIT_RULE_FAILED'
  /** The store did not answer, or answered with an error; with `requireStore` also thrown when the application starts. */
  | 'FREQ_LIMIT_STORE_FAILED';

const BRAND = Symbol.for('nestjs-freq-limit:error');

interface FreqLimitErrorOptions extends ErrorOptions {
  /** A line for each mistake; default: the message. */
  readonly problems?: readonly string[];
}

/**
 * An error of this library. A denied request is not one of them: it is a `FreqLimitExceededException`.
 *
 * Use `code` in your program; the text of `message` may change.
 */
export class FreqLimitError extends Error {
  /** Always `'FreqLimitError'`. */
  override readonly name: string = 'FreqLimitError';
  /**
   * Each mistake as one line: a place, an option, and what is expected. The error of a failed start has a line for
   * everything that is wrong in the options and rules; any other error has one, its message.
   */
  declare readonly problems: readonly string[];
  declare readonly [BRAND]: true;

  /**
   * @param code what went wrong
   * @param message what happened, where, and what to do
   * @param options `cause`: the error that led to this one; `problems`: a line for each mistake, default: the message
   */
  constructor(
    /** What went wrong. */
    readonly code: FreqLimitErrorCode,
    message: string,
    { cause, problems = [message] }: FreqLimitErrorOptions = {},
  ) {
    // a cause that is undefined would be printed too
    super(message, cause === undefined ? undefined : { cause });
    // not enumerable, because an error is printed with its message and its enumerable properties
    Object.defineProperty(this, 'problems', { value: problems });
  }

  static {
    // not a property of each error, because it would be printed
    Object.defineProperty(this.prototype, BRAND, { value: true });
  }
}

/** Tells whether an error is a `FreqLimitError`, also if the library is loaded twice. */
export function isFreqLimitError(error: unknown): error is FreqLimitError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

export function invalidOptions(message: string, cause?: unknown): FreqLimitError {
  return new FreqLimitError('FREQ_LIMIT_INVALID_OPTIONS', message, { cause });
}

export function invalidRule(message: string, cause?: unknown): FreqLimitError {
  return new FreqLimitError('FREQ_LIMIT_INVALID_RULE', message, { cause });
}

export function invalidCheck(message: string, cause?: unknown): FreqLimitError {
  return new FreqLimitError('FREQ_LIMIT_INVALID_CHECK', message, { cause });
}

const MAX_LENGTH = 128;

/**
 * Formats a value for a message or a log line: on one line, escaped, at most 128 characters. Of an object it shows only
 * the kind, because objects may hold personal data.
 */
export function formatForLog(value: unknown): string {
  if (typeof value === 'string') return `"${oneLine(value)}"`;
  if (typeof value === 'function') return `[function ${oneLine(value.name) || 'anonymous'}]`;
  if (Array.isArray(value)) return `[list of ${value.length}]`;
  if (typeof value === 'object' && value !== null) return '[object]';
  return oneLine(typeof value === 'bigint' ? `${value}n` : String(value));
}

/** Formats what was thrown: the message of an error, anything else as `formatForLog` does. */
export function formatError(error: unknown): string {
  const { message, code } = Object(error) as { readonly message?: unknown; readonly code?: unknown };
  if (typeof message !== 'string') return formatForLog(error);
  // Node's AggregateError, with an error for each address that it tried, has a code and no message
  return oneLine(message === '' && typeof code === 'string' ? code : message);
}

/** Formats a string as it is written in code, for advice: `'1m'`. */
export function quoted(text: string): string {
  return `'${oneLine(text).replaceAll("'", "\\'")}'`;
}

/** Makes a string that may come from a client safe for one log line: escaped, and cut to `maxLength` characters. */
export function oneLine(text: string, maxLength = MAX_LENGTH): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  // control characters, line separators and halves of broken surrogate pairs
  return cut.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu, escapeCharacter);
}

function escapeCharacter(character: string): string {
  const short = JSON.stringify(character).slice(1, -1);
  return short === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : short;
}
