import { FREQ_LIMIT_GUARD } from '../core/tokens.js';
import { injectedInto } from './nest-metadata.js';

/** Whether a guard, as a class or an instance, is `FreqLimitGuard` or extends it. Knows that of another copy of this package too. */
export function isFreqLimitGuard(guard: unknown): boolean {
  const classRef = classOf(guard);
  return typeof classRef === 'function' && FREQ_LIMIT_GUARD in classRef;
}

/** Whether a guard injects `FreqLimitGuard`, so that it may call it. */
export function injectsFreqLimitGuard(guard: unknown): boolean {
  const classRef = classOf(guard);
  return typeof classRef === 'function' && injectedInto(classRef).some(isFreqLimitGuard);
}

/** Whether limits are enforced where this guard is. */
export function enforcesLimits(guard: unknown): boolean {
  return isFreqLimitGuard(guard) || injectsFreqLimitGuard(guard);
}

function classOf(guard: unknown): unknown {
  return typeof guard === 'function' ? guard : (Object(guard) as object).constructor;
}
