import type { ExecutionContext } from '@nestjs/common';
import type { ContextKind } from '../contexts/context-kind.js';
import { nestLog } from '../nest/log.js';
import { observesOutcome } from './outcome-interceptor.js';

/**
 * Knows whether the outcome of a request can be observed: for HTTP by the response, else by an interceptor. A handler of a
 * class that was not known at start-up has no interceptor.
 */
export class KnownOutcomes {
  private readonly byHandler = new WeakMap<object, boolean>();

  /** If it cannot be observed, logs one line for the handler, once. */
  isKnown(context: ExecutionContext, { isHttp }: ContextKind): boolean {
    if (isHttp) return true;
    const handler = context.getHandler();
    const known = this.byHandler.get(handler);
    if (known !== undefined) return known;
    const isKnown = observesOutcome(handler);
    this.byHandler.set(handler, isKnown);
    if (!isKnown) warnOfUnknownOutcome(context);
    return isKnown;
  }
}

function warnOfUnknownOutcome(context: ExecutionContext): void {
  nestLog.warn(
    'FREQ_LIMIT_OUTCOME_UNKNOWN',
    `${context.getClass().name}.${context.getHandler().name}: its rules with countWhen count every request, and actualCost is not called, ` +
      'because the outcome of a request is not known: the class was not known at start-up, or the function is not one of its methods. ' +
      'Provide the class itself instead of a factory that makes an instance for each request.',
  );
}
