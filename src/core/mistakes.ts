import { FreqLimitError } from './errors.js';

/** Runs a step. Returns its result, or `undefined` for one that fails if its error is kept. */
export type Attempt = <T>(step: () => T) => T | undefined;

/** Keeps the errors of steps, so that all mistakes of a user are reported together. */
export class Mistakes {
  private readonly errors: FreqLimitError[];

  constructor(errors: Iterable<FreqLimitError> = []) {
    this.errors = [...errors];
  }

  add(error: FreqLimitError): void {
    this.errors.push(error);
  }

  /** Runs a step, and keeps its `FreqLimitError`. Any other error is thrown. */
  readonly attempt: Attempt = (step) => {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof FreqLimitError)) throw error;
      this.errors.push(error);
      return undefined;
    }
  };

  /** One error with a line for each mistake; `undefined` if there is none. */
  get error(): FreqLimitError | undefined {
    const [first, ...others] = this.errors;
    return first && (others.length === 0 ? first : combine([first, ...others]));
  }

  /**
   * Returns the result of the steps.
   * @throws {FreqLimitError} the error of all mistakes, if there are any
   */
  orThrow<T>(result: T | undefined): T {
    const { error } = this;
    if (error !== undefined) throw error;
    return result as T;
  }
}

/** A mistake that was found in several places has the same line in each of them, and is shown once. */
function combine(errors: readonly [FreqLimitError, ...FreqLimitError[]]): FreqLimitError {
  const [first] = errors;
  const problems = [...new Set(errors.flatMap((error) => error.problems))];
  if (problems.length === first.problems.length) return first;
  const isRule = errors.some(({ code }) => code === 'FREQ_LIMIT_INVALID_RULE');
  const title = `${problems.length} mistakes in the configuration of nestjs-freq-limit:`;
  return new FreqLimitError(
    isRule ? 'FREQ_LIMIT_INVALID_RULE' : first.code,
    [title, ...problems].join('\n'),
    { cause: errors.find(({ cause }) => cause !== undefined)?.cause, problems },
  );
}
