import type { ExecutionContext } from '@nestjs/common';
import type { CheckResult } from '../core/check.js';
import { formatError } from '../core/errors.js';
import type { End } from './decisions.js';
import { LimitedLogger } from '../freq-limit.limited-logger.js';
import { isAborted } from './response-end.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import type { Outcome } from '../rules/rule.js';
import type { Store } from '../core/store.js';

/** A visit that was charged, and of which some may yet have to be given back. */
export interface Charged {
  readonly checks: readonly PlannedCheck[];
  /** The answers as the store gave them. */
  readonly results: readonly CheckResult[];
  readonly context: ExecutionContext;
  /** Where there is one. */
  readonly response: StatusResponse | undefined;
}

/** An HTTP response, as far as it tells how it ended. */
export interface StatusResponse {
  readonly statusCode?: unknown;
}

/** Gives back, in one call, what a visit was charged for by rules that do not count how it ended. */
export class Settlement {
  private readonly logger = new LimitedLogger();

  constructor(private readonly store: Store) {}

  /**
   * @returns the answers after it; `undefined` where all counts
   * @throws nothing: the visit is over, and what cannot be given back has counted
   */
  async settle(charged: Charged, end: End): Promise<readonly CheckResult[] | undefined> {
    const { checks, results, response } = charged;
    // nobody knows what a client that hung up has had of its answer: else hanging up would be a way not to be counted
    if (isAborted(response)) return undefined;
    try {
      const outcome = outcomeOf(charged, end);
      const counts = await Promise.all(checks.map(({ rule }) => this.counts(rule, outcome)));
      const given = counts.flatMap((does, i) => (does ? [] : [i]));
      if (given.length === 0) return undefined;
      const after = await this.store.refund(pick(checks, given), pick(results, given));
      return results.map((result, i) => after[given.indexOf(i)] ?? result);
    } catch (error) {
      this.logger.error('refund', `Refund failed; the request stays counted: ${formatError(error)}`);
      return undefined;
    }
  }

  private async counts(
    { shouldCount, place, name }: PlannedCheck['rule'],
    outcome: Outcome,
  ): Promise<boolean> {
    if (shouldCount === undefined) return true;
    try {
      return (await shouldCount(outcome)) !== false;
    } catch (error) {
      const rule = `${place}, rule "${name}"`;
      this.logger.error(
        rule,
        `${rule}: the countWhen function failed; the request counts: ${formatError(error)}`,
      );
      return true;
    }
  }
}

function outcomeOf({ context, response }: Charged, { succeeded, error }: End): Outcome {
  const isHttp = context.getType() === 'http';
  const statusCode = succeeded
    ? isHttp
      ? statusOf(response)
      : undefined
    : failedStatus(error, response, isHttp);
  return { succeeded: succeeded && (statusCode ?? 200) < 400, statusCode, error, context };
}

/** The status of what was thrown; where that is not known, of the answer it has become. */
function failedStatus(
  error: unknown,
  response: StatusResponse | undefined,
  isHttp: boolean,
): number | undefined {
  const { getStatus } = Object(error) as { readonly getStatus?: unknown };
  if (typeof getStatus === 'function') {
    const status = (error as { getStatus(): unknown }).getStatus();
    if (typeof status === 'number') return status;
  }
  if (!isHttp) return undefined;
  return error === undefined ? statusOf(response) : (ownStatusOf(error) ?? 500);
}

/** Of errors of Fastify and of the package `http-errors`, which Nest answers by their status too. */
function ownStatusOf(error: unknown): number | undefined {
  const { statusCode, expose, name } = Object(error) as Readonly<Record<string, unknown>>;
  const isOne = typeof expose === 'boolean' || name === 'FastifyError';
  return isOne && typeof statusCode === 'number' ? statusCode : undefined;
}

function statusOf(response: StatusResponse | undefined): number | undefined {
  return typeof response?.statusCode === 'number' ? response.statusCode : undefined;
}

function pick<T>(list: readonly T[], places: readonly number[]): T[] {
  return list.filter((_, i) => places.includes(i));
}
