import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { guardsOn, injectsOurs } from '../nest/nest-metadata.js';

/** Whether a context has the class of which Nest makes one instance for each call of a handler. */
export function isOfNest(context: ExecutionContext): boolean {
  return context instanceof ExecutionContextHost;
}

/**
 * Whether all guards that were called with one context can belong to one call of its handler. Each guard is called once for
 * each place where it is declared for the handler. If it was called more often, the application has made the context and
 * uses it for several calls.
 * @param asked the guards in the order of their calls; the last one may have been called before
 */
export function isOneCall(
  asked: readonly CanActivate[],
  context: ExecutionContext,
  config: ApplicationConfig,
): boolean {
  const guard = asked.at(-1);
  const times = asked.filter((one) => one === guard).length;
  return times === 1 || times <= placesOf(guard, context, config);
}

/** How many of the guards declared for a handler are this one, or may call it. */
function placesOf(guard: unknown, context: ExecutionContext, config: ApplicationConfig): number {
  const onHandler = guardsOn(Object(context.getClass()) as object, Object(context.getHandler()) as object);
  return [...config.getGlobalGuards(), ...onHandler].filter((place) => leadsTo(place, guard)).length;
}

function leadsTo(place: unknown, guard: unknown): boolean {
  if (place === guard || place === (Object(guard) as object).constructor) return true;
  return injectsOurs(place);
}
