import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { guardsOn, injectsOurs } from './freq-limit.guards.js';

/** Whether a context is of the class that Nest makes one of for each call of a handler. */
export function isOfNest(context: ExecutionContext): boolean {
  return context instanceof ExecutionContextHost;
}

/**
 * Whether guards that were asked with one context can all have been asked for one call of its handler. Each guard is, once
 * for each place that it has before the handler. One that is asked more often was asked for several calls: the application
 * has made the context, and uses it again.
 * @param asked in this order; the last one may have been asked before
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

/** How many of the guards before a handler are this one, or may ask it. */
function placesOf(guard: unknown, context: ExecutionContext, config: ApplicationConfig): number {
  const onHandler = guardsOn(Object(context.getClass()) as object, Object(context.getHandler()) as object);
  return [...config.getGlobalGuards(), ...onHandler].filter((place) => leadsTo(place, guard)).length;
}

function leadsTo(place: unknown, guard: unknown): boolean {
  if (place === guard || place === (Object(guard) as object).constructor) return true;
  return injectsOurs(place);
}
