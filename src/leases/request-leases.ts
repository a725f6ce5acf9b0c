import type { ExecutionContext } from '@nestjs/common';
import type { ResolvedAdapter } from '../contexts/adapters.js';
import type { CheckResult } from '../core/check.js';
import type { Store } from '../core/store.js';
import { RuleError } from '../rules/evaluate.js';
import { labelOf } from '../rules/rule-label.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import { canEnd, onAnswerEnd } from './answer-end.js';
import { offerLeases } from './claims.js';
import { holdsLease, isConnection, releaseAtDisconnect } from './connection-end.js';
import { LeaseKeeper } from './lease-keeper.js';
import { observesEnd } from './lease-interceptor.js';
import { type Taken, takenBy } from './taken.js';

/** One call of a handler. */
interface Call {
  readonly context: ExecutionContext;
  readonly adapter: ResolvedAdapter;
}

/** Holds the leases of requests until their true end: of the response, of the handler's result, or of the connection. */
export class RequestLeases {
  private readonly keeper: LeaseKeeper;

  constructor(store: Store) {
    this.keeper = LeaseKeeper.of(store);
  }

  /**
   * Prepares the checks of a request: one on a lease that its connection holds already takes no other.
   * @throws {FreqLimitError} `FREQ_LIMIT_RULE_FAILED` if the end of the request is not known, so that a lease would never be
   * released
   */
  prepare(checks: readonly PlannedCheck[], call: Call): PlannedCheck[] {
    const client = clientOf(call.context);
    return checks.map((check) => {
      if (check.lease === undefined) return check;
      const { rule, key } = check;
      if (!knowsEnd(rule.holdFor === 'connection', call)) throw endNotKnown(check, call.context);
      if (rule.holdFor !== 'connection' || !holdsLease(client, key)) return check;
      return { ...check, cost: 0, lease: undefined };
    });
  }

  /** Holds what a request has taken. Call it first of all after the store has answered, so that nothing can leak. */
  hold(checks: readonly PlannedCheck[], results: readonly CheckResult[], call: Call): void {
    this.holdForRequest(takenBy(checks, results, isForRequest), call);
    this.holdForConnection(
      takenBy(checks, results, (check) => !isForRequest(check)),
      call,
    );
  }

  private holdForRequest({ checks, results }: Taken<PlannedCheck>, { context, adapter }: Call): void {
    if (checks.length === 0) return;
    const response = responseOf(context, adapter);
    const isClaimed = response !== undefined;
    const leases = this.keeper.hold(checks, results, { takenAtMs: this.keeper.now(), isClaimed });
    if (!isClaimed) offerLeases(context, leases);
    else
      onAnswerEnd(response, () => {
        leases.release();
      });
  }

  /** Each by itself: the next messages of the connection may have only some of the rules. */
  private holdForConnection({ checks, results }: Taken<PlannedCheck>, { context }: Call): void {
    const client = clientOf(context);
    if (!isConnection(client)) return;
    checks.forEach((check, i) => {
      const options = { takenAtMs: this.keeper.now(), isClaimed: true };
      const leases = this.keeper.hold([check], results.slice(i, i + 1), options);
      releaseAtDisconnect(client, check.key, leases);
    });
  }
}

function isForRequest({ rule }: PlannedCheck): boolean {
  return rule.holdFor === 'request';
}

/** The response whose end is the end of the request; a field of a GraphQL result ends before it. */
function responseOf(context: ExecutionContext, adapter: ResolvedAdapter): unknown {
  const response = adapter.isFieldResolver(context) ? undefined : adapter.response?.(context);
  return canEnd(response) ? response : undefined;
}

function knowsEnd(isForConnection: boolean, { context, adapter }: Call): boolean {
  if (isForConnection) return isConnection(clientOf(context));
  return responseOf(context, adapter) !== undefined || observesEnd(context.getHandler());
}

/** The client of a gateway. */
function clientOf(context: ExecutionContext): unknown {
  return context.getType() === 'ws' ? context.getArgByIndex<unknown>(0) : undefined;
}

function endNotKnown({ rule }: PlannedCheck, context: ExecutionContext): RuleError {
  const handler = `${context.getClass().name}.${context.getHandler().name}`;
  const problem =
    rule.holdFor === 'connection'
      ? `holdFor is 'connection', but ${handler} has no connection; remove holdFor`
      : `concurrency is not possible at ${handler}, because the end of its requests is not known: its class was not known at ` +
        'start-up, or the function is not one of its methods. Provide the class itself instead of a factory that makes an ' +
        'instance for each request, or call FreqLimitService.hold there';
  return new RuleError(labelOf(rule), problem, undefined);
}
