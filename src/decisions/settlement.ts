import { conversionHint } from '../core/conversion-hint.js';
import { formatError, formatForLog } from '../core/errors.js';
import { COUNT } from '../core/validate.js';
import { nestLogPerSecond } from '../nest/log.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import type { Outcome } from '../rules/rule.js';
import { labelOf } from '../rules/rule-label.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import type { HandlerEnd } from './decisions.js';
import { type EndedRequest, outcomeOf } from './outcome.js';
import type { RequestCharges } from './request-charges.js';
import { isAborted } from './response-end.js';

/** A request that has ended. */
export interface SettledRequest extends EndedRequest {
  readonly checks: readonly PlannedCheck[];
  readonly charges: RequestCharges;
}

/** What the outcome of a request says about one check; `undefined`: nothing. */
type CostByOutcome = { readonly cost: number; readonly isFinal: boolean } | undefined;

/** Nothing counts that should not count by its outcome, whatever the handler has settled. */
const NOT_COUNTED: CostByOutcome = { cost: 0, isFinal: true };

/**
 * Settles a request in one call of the store, by how it ended: `countWhen` refunds what should not count, `actualCost` says what
 * was really used.
 */
export class Settlement {
  private readonly log = nestLogPerSecond();

  /** Never rejects: if a function or the store fails, the request stays charged. */
  async settle(request: SettledRequest, end: HandlerEnd): Promise<void> {
    const costs = await this.costsOf(request, end);
    await request.charges.finish((i, kept) => {
      const one = costs[i];
      return one?.isFinal === true ? one.cost : (kept ?? one?.cost);
    });
  }

  private async costsOf(request: SettledRequest, end: HandlerEnd): Promise<readonly CostByOutcome[]> {
    // the handler may still work
    if (end.isGone === true) return [];
    // How much of the response the client got is unknown, and disconnecting must not be a way to avoid a charge: nothing is
    // refunded, and a debt is charged.
    const isGone = isAborted(request.response) && end.isCut !== true;
    try {
      const outcome = outcomeOf(request, end);
      const isComplete = outcome.succeeded && end.isCut !== true;
      return await Promise.all(
        request.checks.map(async (check, i): Promise<CostByOutcome> => {
          if (!isGone && !(await this.shouldCount(check.rule, outcome))) return NOT_COUNTED;
          if (!isComplete || request.charges.isSettled(i)) return undefined;
          const actual = await this.actualCost(check, outcome);
          return isGone && (actual?.cost ?? 0) <= check.cost ? undefined : actual;
        }),
      );
    } catch (error) {
      this.log.error(
        'FREQ_LIMIT_REFUND_FAILED',
        'outcome',
        `Refund failed; the request stays counted: ${formatError(error)}`,
      );
      return [];
    }
  }

  private async shouldCount(rule: PlannedRule, outcome: Outcome): Promise<boolean> {
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

  private async actualCost({ rule, cost }: PlannedCheck, outcome: Outcome): Promise<CostByOutcome> {
    const { actualCost } = rule;
    if (actualCost === undefined) return undefined;
    try {
      const actual = await actualCost(outcome);
      if (COUNT.test(actual)) return { cost: actual, isFinal: false };
      const problem = `returned ${formatForLog(actual)}, which is not ${COUNT.expected}`;
      this.logActualCost(
        rule,
        `${problem}${conversionHint(actual, COUNT.test)}; the request stays charged ${cost}`,
      );
    } catch (error) {
      this.logActualCost(rule, `failed; the request stays charged ${cost}: ${formatError(error)}`);
    }
    return undefined;
  }

  private logActualCost(rule: PlannedRule, problem: string): void {
    const label = labelOf(rule);
    this.log.error('FREQ_LIMIT_ACTUAL_COST_FAILED', label, `${label}: the actualCost function ${problem}`);
  }
}
