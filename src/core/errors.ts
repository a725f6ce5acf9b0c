/** What went wrong, stable across versions; the README has a line for each. */
export type FreqLimitErrorCode =
  /** The module's options are wrong. At start-up. */
  | 'FREQ_LIMIT_INVALID_OPTIONS'
  /** A declared rule is wrong. At start-up. */
  | 'FREQ_LIMIT_INVALID_RULE'
  /** A call of `FreqLimitService` got a wrong argument. Nothing was counted. */
  | 'FREQ_LIMIT_INVALID_CHECK'
  /** A function of a rule threw, or answered what no rule can use. Nothing was counted. */
  | 'FREQ_LIMIT_RULE_FAILED'
  /** The store did not answer, or refused. */
  | 'FREQ_LIMIT_STORE_FAILED';

const BRAND = Symbol.for('nestjs-freq-limit:error');

/** An error of this library that is not a denial. `code` is stable, `message` is for people. */
export class FreqLimitError extends Error {
  override readonly name: string = 'FreqLimitError';
  readonly [BRAND] = true;

  constructor(
    readonly code: FreqLimitErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A wrong argument: a `TypeError` with the same brand and a code. */
export class FreqLimitTypeError extends TypeError {
  override readonly name: string = 'FreqLimitTypeError';
  readonly code: FreqLimitErrorCode = 'FREQ_LIMIT_INVALID_CHECK';
  readonly [BRAND] = true;
}

/** Whether an error is one of this library's, also when the library is loaded twice. */
export function isFreqLimitError(error: unknown): error is FreqLimitError | FreqLimitTypeError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

const MAX_SHOWN_LENGTH = 128;

/**
 * A value as a message or a log line may show it: on one line, escaped, cut at 128 characters. Of objects only the
 * kind, since they may hold what is nobody's business.
 */
export function formatForLog(value: unknown): string {
  if (typeof value === 'string') return `"${oneLine(value)}"`;
  if (typeof value === 'function') return `[function ${oneLine(value.name) || 'anonymous'}]`;
  if (Array.isArray(value)) return `[list of ${value.length}]`;
  if (typeof value === 'object' && value !== null) return '[object]';
  return oneLine(typeof value === 'bigint' ? `${value}n` : String(value));
}

/** What was thrown, in the same form. */
export function formatError(error: unknown): string {
  const { message, code } = Object(error) as { readonly message?: unknown; readonly code?: unknown };
  if (typeof message !== 'string') return formatForLog(error);
  // an AggregateError of Node, one for each address that was tried, has a code and no message
  return oneLine(message === '' && typeof code === 'string' ? code : message);
}

/** Makes text that may come from a client safe for one log line: escaped, and cut to `longest` characters. */
export function oneLine(text: string, maxLength = MAX_SHOWN_LENGTH): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  // control characters, line separators and the halves of a broken surrogate pair
  return cut.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu, escapeCharacter);
}

function escapeCharacter(character: string): string {
  const short = JSON.stringify(character).slice(1, -1);
  return short === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : short;
}
