import type { ApplicationConfig } from '@nestjs/core';
import { guardsOn, pathsOf } from '../nest/nest-metadata.js';
import type { HandlerKind } from '../plans/handler-kinds.js';
import type { FreqLimitPlans, PlannedHandler } from '../plans/plans.js';
import type { PlannedRule } from '../rules/planned-rule.js';

/** A handler with limits, and the guards that Nest runs for it. */
export interface LimitedHandler {
  /** `SmsController.send`. */
  readonly name: string;
  readonly rules: readonly PlannedRule[];
  /** Classes or instances, in the order in which Nest runs them; global request-scoped ones after other global ones. */
  readonly guards: readonly unknown[];
  readonly kind: HandlerKind | undefined;
  /** Of a route: the paths of the controller and of the method. */
  readonly paths: readonly unknown[];
}

/**
 * The handlers that have limits, with the guards that Nest runs for them. Of handlers other than routes only those of classes
 * with a decorator of ours: if only the module's rules apply to them, they may have no guard on purpose.
 */
export function limitedHandlers(
  handlers: readonly PlannedHandler[],
  plans: FreqLimitPlans,
  config: ApplicationConfig,
): LimitedHandler[] {
  const decorated = new Set(plans.classes.filter((one) => one.isDecorated()).map(({ classRef }) => classRef));
  const globalGuards = globalGuardsOf(config);
  return handlers.flatMap(({ classRef, name, method, kind }) => {
    if (kind !== 'route' && !decorated.has(classRef)) return [];
    // `disableLimits` of tests takes the plans away here
    const rules = plans.of(classRef, method)?.rules;
    if (rules === undefined) return [];
    const guards = [...globalGuards, ...guardsOn(classRef, method)];
    return [{ name: `${classRef.name}.${name}`, rules, guards, kind, paths: pathsOf(classRef, method) }];
  });
}

/** In the order in which Nest runs them. */
export function globalGuardsOf(config: ApplicationConfig): unknown[] {
  return [...config.getGlobalGuards(), ...config.getGlobalRequestGuards()];
}
