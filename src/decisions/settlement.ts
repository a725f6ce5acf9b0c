import type { CheckResult } from '../core/check.js';
import { formatError } from '../core/errors.js';
import type { Store } from '../core/store.js';
import { nestLogPerSecond } from '../nest/log.js';
import type { Outcome } from '../rules/rule.js';
import { labelOf } from '../rules/rule-label.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import type { HandlerEnd } from './decisions.js';
import { type EndedRequest, outcomeOf } from './outcome.js';
import { isAborted } from './response-end.js';

/** A charged request, of which a part may have to be refunded. */
export interface ChargedRequest extends EndedRequest {
  readonly checks: readonly PlannedCheck[];
  /** The store's results. */
  readonly results: readonly CheckResult[];
}

/** Refunds, in one call of the store, the checks of a request that should not count because of how the request ended. */
export class Settlement {
  private readonly log = nestLogPerSecond();

  constructor(private readonly store: Store) {}

  /**
   * @returns the results after the refund; `undefined` if everything counts
   * @throws nothing: if the refund fails, the request stays counted
   */
  async settle(charged: ChargedRequest, end: HandlerEnd): Promise<readonly CheckResult[] | undefined> {
    // how much of the response the client got is unknown, and disconnecting must not be a way to avoid being counted
    if (isAborted(charged.response)) return undefined;
    try {
      const outcome = outcomeOf(charged, end);
      const counts = await Promise.all(charged.checks.map(({ rule }) => this.shouldCount(rule, outcome)));
      return await this.refund(charged, (i) => counts[i] === false);
    } catch (error) {
      this.log.error(
        'FREQ_LIMIT_REFUND_FAILED',
        'refund',
        `Refund failed; the request stays counted: ${formatError(error)}`,
      );
      return undefined;
    }
  }

  private async refund(
    { checks, results }: ChargedRequest,
    isRefunded: (index: number) => boolean,
  ): Promise<readonly CheckResult[] | undefined> {
    const refunded = checks.flatMap((_, i) => (isRefunded(i) ? [i] : []));
    if (refunded.length === 0) return undefined;
    const after = await this.store.settle(
      checks.filter((_, i) => isRefunded(i)),
      results.filter((_, i) => isRefunded(i)),
      refunded.map(() => 0),
    );
    return results.map((result, i) => after[refunded.indexOf(i)] ?? result);
  }

  private async shouldCount(rule: PlannedCheck['rule'], outcome: Outcome): Promise<boolean> {
    const { shouldCount } = rule;
    if (shouldCount === undefined) return true;
    try {
      return (await shouldCount(outcome)) !== false;
    } catch (error) {
      const label = labelOf(rule);
      this.log.error(
        'FREQ_LIMIT_COUNT_WHEN_FAILED',
        label,
        `${label}: the countWhen function failed; the request counts: ${formatError(error)}`,
      );
      return true;
    }
  }
}
