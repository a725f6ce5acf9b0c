import type { FreqLimitError } from '../core/errors.js';
import type { Plan } from '../rules/plan.js';

/** A plan, `undefined` if no rule applies, or the error of wrong declarations. */
export class PlanResult {
  constructor(
    private readonly made: Plan | undefined,
    /** Has a line for each mistake, also for those in the module's options and rules. */
    readonly error: FreqLimitError | undefined,
  ) {}

  /** @throws {FreqLimitError} the error of wrong declarations */
  get plan(): Plan | undefined {
    if (this.error !== undefined) throw this.error;
    return this.made;
  }

  /** The plan, or `undefined` if there is an error. */
  get planIfValid(): Plan | undefined {
    return this.error === undefined ? this.made : undefined;
  }
}
