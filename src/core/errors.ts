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

const SHOWN = 128;

/**
 * A value as an error message or a log line may show it: on one line, escaped, cut at 128 characters.
 */
export function show(value: unknown): string {
  const text = showWhole(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function showWhole(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `[function ${value.name || 'anonymous'}]`;
  if (Array.isArray(value)) return `[array of ${value.length}]`;
  if (typeof value === 'object' && value !== null) return '[object]';
  if (typeof value === 'bigint') return `${value}n`;
  return String(value);
}

/** An error's message in the same form, without quotes. */
export function showError(error: unknown): string {
  return show(error instanceof Error ? error.message : error).replace(/^"(.*)"$/s, '$1');
}
