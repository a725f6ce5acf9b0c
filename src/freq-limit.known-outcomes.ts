import { type ExecutionContext, Logger } from '@nestjs/common';
import { seesOutcome } from './freq-limit.handlers.js';

/**
 * Knows of which calls it can be seen how they end: of HTTP requests by their responses, of others by an interceptor. A
 * handler of a class that was not known when the application started has none.
 */
export class KnownOutcomes {
  private readonly logger = new Logger('FreqLimit');
  private readonly byHandler = new WeakMap<object, boolean>();

  /** Where it is not known, the log has a line for the handler, once. */
  isKnown(context: ExecutionContext): boolean {
    if (context.getType() === 'http') return true;
    const handler = context.getHandler();
    const known = this.byHandler.get(handler);
    if (known !== undefined) return known;
    const isKnown = seesOutcome(handler);
    this.byHandler.set(handler, isKnown);
    if (!isKnown) this.warn(context);
    return isKnown;
  }

  private warn(context: ExecutionContext): void {
    this.logger.warn(
      `${context.getClass().name}.${context.getHandler().name}: its rules with countWhen count every call, because nothing ` +
        'tells how a call ends: the class was not known when the application started, or the function is not a method of ' +
        'it. Provide the class itself rather than what makes it for each request.',
    );
  }
}
