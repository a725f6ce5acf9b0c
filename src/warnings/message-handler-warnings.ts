import { gatewaysHaveGlobalGuards } from '../nest/gateways.js';
import { enforcesLimits } from '../nest/guards.js';
import { guardsOn } from '../nest/nest-metadata.js';
import type { PlannedHandler } from '../plans/plans.js';
import { joinNames, type Warning } from './warning.js';

/**
 * Message handlers with limits of their own, or of their class, to which Nest may not apply global guards: those of
 * microservices in a hybrid application, and those of gateways before Nest 12. A `@UseGuards(FreqLimitGuard)` is enough.
 * @param hasHttp whether the application serves HTTP: then its microservices are connected to it
 */
export async function unprotectedMessageHandlers(
  handlers: readonly PlannedHandler[],
  hasHttp: boolean,
): Promise<Warning[]> {
  const unguarded = handlers.filter((handler) => hasOwnLimits(handler) && !isGuarded(handler));
  const patterns = hasHttp ? unguarded.filter(({ kind }) => kind === 'pattern') : [];
  const messages = unguarded.filter(({ kind }) => kind === 'gateway');
  return [
    ...warning(
      patterns,
      'Nest may call these message handlers without FreqLimitGuard, and then their limits have no effect. In an application that ' +
        'also serves HTTP, Nest applies global guards to them only if the microservice is connected with ' +
        '{ inheritAppConfig: true }. Connect it like that, or add @UseGuards(FreqLimitGuard) to the handlers, which also ' +
        'ends this warning.',
    ),
    ...warning(
      messages.length === 0 || (await gatewaysHaveGlobalGuards()) ? [] : messages,
      'FreqLimitGuard does not protect these message handlers, so their limits have no effect. This version of Nest does not ' +
        'apply global guards to gateways. Add @UseGuards(FreqLimitGuard) to the handlers.',
    ),
  ];
}

/** The module's rules apply to all kinds of handlers, and may be meant for the others. */
function hasOwnLimits({ plan }: PlannedHandler): boolean {
  return plan.rules.some(({ level }) => level !== 'app');
}

function isGuarded({ classRef, method }: PlannedHandler): boolean {
  return guardsOn(classRef, method).some(enforcesLimits);
}

function warning(handlers: readonly PlannedHandler[], text: string): Warning[] {
  if (handlers.length === 0) return [];
  const names = joinNames(handlers.map(({ classRef, name }) => `${classRef.name}.${name}`));
  return [{ code: 'FREQ_LIMIT_UNPROTECTED_MESSAGE_HANDLER', message: `${names}: ${text}` }];
}
