import { formatForLog } from './errors.js';

/** What a value must look like, as a test and in words. */
export interface Validator<T> {
  readonly test: (value: unknown) => value is T;
  readonly expected: string;
}

/** A number that may be a limit or a cost: whole, not negative, exact. */
export const COUNT: Validator<number> = {
  test: (value): value is number => Number.isSafeInteger(value) && (value as number) >= 0,
  expected: 'a whole number from 0 to 2^53 - 1',
};

export const BOOLEAN: Validator<boolean> = {
  test: (value) => typeof value === 'boolean',
  expected: 'true or false',
};

/** A function; its parameters and its answer cannot be seen and are taken on trust. */
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

export function wholeNumber(least: number, most: number): Validator<number> {
  return {
    test: (value): value is number =>
      Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
    expected: `a whole number from ${least} to ${most}`,
  };
}

export function matching(pattern: RegExp, expected: string): Validator<string> {
  return { test: (value): value is string => typeof value === 'string' && pattern.test(value), expected };
}

/** Reads the properties of something a user wrote; what does not fit is an error that names place, property and form. */
export class OptionReader {
  constructor(
    /** Where the user wrote it. */
    private readonly place: string,
    private readonly toError: (message: string, cause?: unknown) => Error,
  ) {}

  required<T>(property: string, value: unknown, form: Validator<T>): T {
    if (form.test(value)) return value;
    throw this.invalid(
      property,
      value === undefined ? `is missing: ${form.expected}` : `${formatForLog(value)} is not ${form.expected}`,
    );
  }

  /** `undefined` is as good as not given. */
  optional<T>(property: string, value: unknown, form: Validator<T>): T | undefined {
    return value === undefined ? undefined : this.required(property, value, form);
  }

  /** Refuses what is no object, and properties nobody would read. `hints` knows the words of other libraries. */
  object(
    value: unknown,
    known: readonly string[],
    hints: Readonly<Record<string, string>> = {},
  ): Readonly<Record<string, unknown>> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw this.toError(`${this.place}: ${formatForLog(value)} is not an object of ${known.join(', ')}`);
    }
    for (const property of Object.keys(value)) {
      if (known.includes(property)) continue;
      const hint = Object.hasOwn(hints, property) ? `; did you mean ${String(hints[property])}?` : '';
      throw this.invalid(property, `is not known here${hint} (known: ${known.join(', ')})`);
    }
    return value as Readonly<Record<string, unknown>>;
  }

  /** Refuses what is no object whose properties the user may name as he likes. */
  record(property: string, value: unknown): Readonly<Record<string, unknown>> {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Readonly<Record<string, unknown>>;
    }
    throw this.invalid(property, `${formatForLog(value)} is not an object`);
  }

  /** Runs a parser; its complaint becomes this place's error. */
  parsed<T>(property: string, parse: () => T): T {
    try {
      return parse();
    } catch (error) {
      throw this.invalid(property, error instanceof Error ? error.message : String(error), error);
    }
  }

  invalid(property: string, problem: string, cause?: unknown): Error {
    return this.toError(`${this.place}: ${property}: ${problem}`, cause);
  }
}
