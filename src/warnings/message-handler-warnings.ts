import { Logger } from '@nestjs/common';
import { namesOf } from './start-up-warnings.js';
import { guardsOn, holdsLimits } from '../nest/nest-metadata.js';
import type { HandlerPlan } from '../plans/plans.js';

/**
 * Tells the log of message handlers with limits of their own, or of their class, that no guard of the application may
 * stand before: those of microservices in a hybrid application, and those of gateways before Nest 12. A
 * `@UseGuards(FreqLimitGuard)` settles it.
 * @param hasHttp whether the application answers HTTP: then its microservices are connected to it
 */
export async function warnOfMessageHandlers(
  handlers: readonly HandlerPlan[],
  hasHttp: boolean,
): Promise<void> {
  const logger = new Logger('FreqLimit');
  const unguarded = handlers.filter((handler) => isLimitedItself(handler) && !isGuarded(handler));
  const patterns = hasHttp ? unguarded.filter(({ kind }) => kind === 'pattern') : [];
  if (patterns.length > 0) {
    logger.warn(
      `${named(patterns)}: limits on message handlers of an application that answers HTTP too. Nest puts global guards ` +
        'before them only where the microservice is connected with { inheritAppConfig: true }: connect it so, or write ' +
        '@UseGuards(FreqLimitGuard) beside the limits, which also ends this warning.',
    );
  }
  const messages = unguarded.filter(({ kind }) => kind === 'gateway');
  if (messages.length > 0 && !(await gatewaysHaveGlobalGuards())) {
    logger.warn(
      `${named(messages)}: limits on message handlers of gateways, before which this version of Nest puts no global ` +
        'guard: write @UseGuards(FreqLimitGuard) beside the limits.',
    );
  }
}

/** The module's own rules are for all kinds of handlers, and may well be meant for others. */
function isLimitedItself({ plan }: HandlerPlan): boolean {
  return plan.rules.some(({ level }) => level !== 'app');
}

function isGuarded({ classRef, method }: HandlerPlan): boolean {
  return guardsOn(classRef, method).some(holdsLimits);
}

/** Nest 12 hands gateways the application's configuration, global guards in it; before, it does not. */
async function gatewaysHaveGlobalGuards(): Promise<boolean> {
  try {
    const { SocketModule } = await import('@nestjs/websockets/socket-module.js');
    const { getContextCreator } = SocketModule.prototype as unknown as Readonly<
      Record<'getContextCreator', { readonly length: number } | undefined>
    >;
    return getContextCreator === undefined || getContextCreator.length > 1;
  } catch {
    // messages come by another library
    return true;
  }
}

function named(handlers: readonly HandlerPlan[]): string {
  return namesOf(handlers.map(({ classRef, name }) => ({ name: `${classRef.name}.${name}` })));
}
