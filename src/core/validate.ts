import { conversionHint, NAN_HINT } from './conversion-hint.js';
import { formatForLog, oneLine } from './errors.js';
import { type Advice, adviceFor, type OptionHints } from './option-hints.js';

/** Tests a value, and says what is expected of it. */
export interface Validator<T> {
  readonly test: (value: unknown) => value is T;
  /** Completes the sentences "5 is not …" and "is missing; expected …". */
  readonly expected: string;
  /** What to write to convert a string to a number; default: `Number(…)`. */
  readonly toNumber?: string;
}

/** A limit or a cost. */
export const COUNT: Validator<number> = {
  test: (value): value is number => Number.isSafeInteger(value) && (value as number) >= 0,
  expected: 'a whole number from 0 to 2^53 - 1',
};

export const BOOLEAN: Validator<boolean> = {
  test: (value) => typeof value === 'boolean',
  expected: 'true or false',
};

/** A function. Its parameters and its result cannot be checked. */
export function aFunction<F extends (...args: never[]) => unknown>(): Validator<F> {
  return { test: (value): value is F => typeof value === 'function', expected: 'a function' };
}

export function oneOf<const T extends string>(...choices: readonly T[]): Validator<T> {
  return {
    test: (value): value is T => choices.includes(value as T),
    expected: `one of ${choices.map((choice) => `'${choice}'`).join(', ')}`,
  };
}

export function either<A, B>(a: Validator<A>, b: Validator<B>): Validator<A | B> {
  return {
    test: (value): value is A | B => a.test(value) || b.test(value),
    expected: `${a.expected}, or ${b.expected}`,
  };
}

export function wholeNumber(min: number, max: number): Validator<number> {
  return {
    test: (value): value is number =>
      Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
    expected: `a whole number from ${min} to ${max}`,
  };
}

export function matching(pattern: RegExp, expected: string): Validator<string> {
  return { test: (value): value is string => typeof value === 'string' && pattern.test(value), expected };
}

export const NOT_EMPTY = matching(/./s, 'a string of at least one character');

/** An object with names that the user chooses. */
export function objectOf<T extends object>(expected: string): Validator<T> {
  return { test: (value): value is T => isObject(value), expected };
}

/** Says that a value is not what is expected, and what to write if the value probably comes from the environment. */
export function mismatch(value: unknown, { test, expected, toNumber }: Validator<unknown>): string {
  const hint = Number.isNaN(value) ? NAN_HINT : conversionHint(value, test, toNumber);
  return `${formatForLog(value)} is not ${expected}${hint}`;
}

/** Reads values that a user wrote. An error for a wrong value names the place, the option and what is expected. */
export class OptionReader<E extends Error = Error> {
  /**
   * @param place where the user wrote the values, such as `@FreqLimit on SmsController.send`, or a function that returns it
   * @param toError makes the errors that are thrown
   */
  constructor(
    private readonly place: string | (() => string),
    private readonly toError: (message: string, cause?: unknown) => E,
  ) {}

  required<T>(option: string, value: unknown, validator: Validator<T>): T {
    if (validator.test(value)) return value;
    throw this.invalid(
      option,
      value === undefined ? `is missing; expected ${validator.expected}` : mismatch(value, validator),
    );
  }

  /** `undefined` means that the option is not given. */
  optional<T>(option: string, value: unknown, validator: Validator<T>): T | undefined {
    return value === undefined ? undefined : this.required(option, value, validator);
  }

  /**
   * Checks that a value is an object with known options only.
   * @param hints for names that are not options: what to write instead
   */
  object(
    value: unknown,
    known: readonly string[],
    hints: OptionHints = {},
  ): Readonly<Record<string, unknown>> {
    const options = this.anyObject(value, known);
    for (const option of Object.keys(options)) {
      if (known.includes(option)) continue;
      throw this.unknown(option, known, adviceFor(option, options, known, hints));
    }
    return options;
  }

  /** Checks that a value is an object, whatever options it has. */
  anyObject(value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
    if (isObject(value)) return value as Readonly<Record<string, unknown>>;
    throw this.toError(
      `${this.placeText()}: ${formatForLog(value)} is not an object with the options ${known.join(', ')}`,
    );
  }

  /** Calls a parser. Its error becomes an error with the place and the option. */
  parsed<T>(option: string, parse: () => T): T {
    try {
      return parse();
    } catch (error) {
      throw this.failed(option, error);
    }
  }

  /** The error for an option whose parser threw. */
  failed(option: string, error: unknown): E {
    return this.invalid(option, error instanceof Error ? error.message : String(error), causeOf(error));
  }

  /** The error for an option that does not exist. */
  unknown(option: string, known: readonly string[], advice: Advice | undefined): E {
    const instead = advice === undefined ? ` (options: ${known.join(', ')})` : `; ${advice.text}`;
    return this.invalid(option, `is not an option${instead}`);
  }

  /** The error for a wrong option. */
  invalid(option: string, problem: string, cause?: unknown): E {
    return this.toError(`${this.placeText()}: ${oneLine(option)}: ${problem}`, cause);
  }

  private placeText(): string {
    return typeof this.place === 'string' ? this.place : this.place();
  }
}

/** A parser says what is wrong by a `TypeError` or `RangeError`. Its message is shown already, so it is not a cause. */
function causeOf(error: unknown): unknown {
  return error instanceof TypeError || error instanceof RangeError ? error.cause : error;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
