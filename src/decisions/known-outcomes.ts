import { type ExecutionContext, Logger } from '@nestjs/common';
import { observesOutcome } from './outcome-interceptor.js';

/**
 * Knows whether the outcome of a call can be observed: for HTTP by the response, for others by an interceptor. A handler of
 * a class that was not known when the application started has no interceptor.
 */
export class KnownOutcomes {
  private readonly logger = new Logger('FreqLimit');
  private readonly byHandler = new WeakMap<object, boolean>();

  /** If it cannot be observed, logs one line for the handler, once. */
  isKnown(context: ExecutionContext): boolean {
    if (context.getType() === 'http') return true;
    const handler = context.getHandler();
    const known = this.byHandler.get(handler);
    if (known !== undefined) return known;
    const isKnown = observesOutcome(handler);
    this.byHandler.set(handler, isKnown);
    if (!isKnown) this.warn(context);
    return isKnown;
  }

  private warn(context: ExecutionContext): void {
    this.logger.warn(
      `${context.getClass().name}.${context.getHandler().name}: its rules with countWhen count every call, because the ` +
        'outcome of a call is not known: the class was not known when the application started, or the function is not one ' +
        'of its methods. Provide the class itself instead of a factory that makes an instance for each request.',
    );
  }
}
