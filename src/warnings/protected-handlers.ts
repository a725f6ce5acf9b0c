import type { ApplicationConfig } from '@nestjs/core';
import { gatewaysHaveGlobalGuards } from '../nest/gateways.js';
import { enforcesLimits } from '../nest/guards.js';
import { guardsOn } from '../nest/nest-metadata.js';
import type { PlannedHandler } from '../plans/plans.js';
import { globalGuardsOf } from './limited-handlers.js';

/**
 * The handlers that `FreqLimitGuard` surely protects. A message handler of a hybrid application needs a guard of its own:
 * it is not known whether Nest applies global guards to it.
 * @param hasHttp whether the application serves HTTP: then its microservices are connected to it
 */
export async function protectedHandlers(
  handlers: readonly PlannedHandler[],
  config: ApplicationConfig,
  hasHttp: boolean,
): Promise<PlannedHandler[]> {
  const isGlobal = globalGuardsOf(config).some(enforcesLimits);
  const hasMessages = handlers.some(({ kind }) => kind === 'gateway');
  const reaches = {
    gateway: isGlobal && hasMessages && (await gatewaysHaveGlobalGuards()),
    pattern: isGlobal && !hasHttp,
    other: isGlobal,
  };
  return handlers.filter(({ classRef, method, kind }) => {
    const isReached = kind === 'gateway' || kind === 'pattern' ? reaches[kind] : reaches.other;
    return isReached || guardsOn(classRef, method).some(enforcesLimits);
  });
}
