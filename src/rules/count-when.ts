import { aFunction, either, type Validator, oneOf } from '../core/validate.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { CountWhen, Outcome } from './rule.js';

type Counts = (outcome: Outcome) => MaybePromise<unknown>;

export const COUNT_WHEN: Validator<CountWhen> = either(
  oneOf('request', 'success', 'failure'),
  aFunction<Counts>(),
) as Validator<CountWhen>;

/** The function that decides whether a request counts by its outcome; `undefined` if every request counts. */
export function toShouldCount(countWhen: CountWhen = 'request'): Counts | undefined {
  switch (countWhen) {
    case 'request':
      return undefined;
    case 'success':
      return ({ succeeded }) => succeeded;
    case 'failure':
      return ({ succeeded }) => !succeeded;
    default:
      return countWhen;
  }
}
