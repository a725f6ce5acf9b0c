import { FreqLimitPlans } from '../plans/plans.js';

/** Checks all declarations, but gives no plan to a guard. */
export class UnlimitedPlans extends FreqLimitPlans {
  override of(): undefined {
    return undefined;
  }
}
