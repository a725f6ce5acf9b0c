import type { ExecutionContext } from '@nestjs/common';
import type { ResolvedAdapter } from '../contexts/adapters.js';
import type { CheckResult } from '../core/check.js';
import { andThen, type MaybePromise } from '../core/maybe-promise.js';
import type { Store } from '../core/store.js';
import { RuleError } from '../rules/evaluate.js';
import { labelOf } from '../rules/rule-label.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import { canEnd, onAnswerEnd } from './answer-end.js';
import { offerLeases } from './claims.js';
import { type Connection, connectionOf, isConnection } from './connection-end.js';
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

  /** @param onShadowFailed called with the error if the end of a request with a shadow rule is not known */
  constructor(
    store: Store,
    private readonly onShadowFailed: (error: unknown) => void,
  ) {
    this.keeper = LeaseKeeper.of(store);
  }

  /**
   * Prepares the checks of a request, without those of leases that its connection holds already. A message waits for those
   * before it that are taking the same leases: then it needs no other, or asks for one itself.
   * @throws {FreqLimitError} `FREQ_LIMIT_RULE_FAILED` if the end of the request is not known, so that a lease would never be
   * released
   */
  prepare(checks: readonly PlannedCheck[], call: Call): MaybePromise<PlannedCheck[]> {
    const possible = checks.filter((check) => this.isPossible(check, call));
    const keys = keysForConnection(possible);
    const client = clientOf(call.context);
    if (keys.length === 0 || !isConnection(client)) return possible;
    const connection = connectionOf(client);
    return andThen(connection.whileTaking(keys), () => withoutHeld(possible, connection));
  }

  /**
   * Lets later messages of the connection wait for what this one takes.
   * @param answered the answer of the store. Let {@link hold} wait for it before, so that they find what it has
   */
  noteTaking(checks: readonly PlannedCheck[], { context }: Call, answered: Promise<unknown>): void {
    const client = clientOf(context);
    if (!isConnection(client)) return;
    for (const key of keysForConnection(checks)) connectionOf(client).noteTaking(key, answered);
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
      connectionOf(client).holdUntilClosed(check.key, leases);
    });
  }

  /** Whether the end of what a check takes is known. A shadow rule never denies a request, also not by an error. */
  private isPossible(check: PlannedCheck, call: Call): boolean {
    if (check.lease === undefined || knowsEnd(!isForRequest(check), call)) return true;
    const error = endNotKnown(check, call.context);
    if (!check.shadow) throw error;
    this.onShadowFailed(error);
    return false;
  }
}

function keysForConnection(checks: readonly PlannedCheck[]): string[] {
  return checks.filter(isForConnection).map(({ key }) => key);
}

function isForConnection(check: PlannedCheck): boolean {
  return check.lease !== undefined && !isForRequest(check);
}

/** A connection with its maximum of leases gets no other: the store denies a limit of 0, in the one call with all checks. */
function withoutHeld(checks: readonly PlannedCheck[], connection: Connection): PlannedCheck[] {
  let { free } = connection;
  return checks.flatMap((check) => {
    if (!isForConnection(check)) return check;
    if (connection.holds(check.key)) return [];
    return free-- > 0 ? check : { ...check, limit: 0 };
  });
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
