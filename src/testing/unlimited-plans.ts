import { FreqLimitPlans } from '../plans/plans.js';

/** Checks all declarations as ever, and gives the guard none of them, wherever it stands and whoever extends it. */
export class UnlimitedPlans extends FreqLimitPlans {
  override of(): undefined {
    return undefined;
  }
}
