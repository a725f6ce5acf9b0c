import { FreqLimitError } from '../core/errors.js';
import type { Plan } from '../rules/plan.js';

/** A plan, `undefined` if no rule applies, or the error of a wrong declaration. */
export class PlanResult {
  private constructor(
    private readonly made: Plan | undefined,
    private readonly error: FreqLimitError | undefined,
  ) {}

  /** Makes a plan once, and keeps what came of it. */
  static of(make: () => Plan | undefined): PlanResult {
    try {
      return new PlanResult(make(), undefined);
    } catch (error) {
      if (error instanceof FreqLimitError) return new PlanResult(undefined, error);
      throw error;
    }
  }

  /** @throws {FreqLimitError} the error of a wrong declaration */
  get plan(): Plan | undefined {
    if (this.error !== undefined) throw this.error;
    return this.made;
  }

  /** The plan, or `undefined` if there is an error. */
  get planIfValid(): Plan | undefined {
    return this.made;
  }

  get errors(): readonly string[] {
    return this.error === undefined ? [] : [this.error.message];
  }
}
