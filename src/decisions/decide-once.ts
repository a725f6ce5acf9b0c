import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { injectsFreqLimitGuard } from '../nest/guards.js';
import { guardsOn } from '../nest/nest-metadata.js';

// Several guards may run for one call of a handler: a global one, those of the class and of the method, subclasses, guards of
// the application that call ours. Nest passes one context to all of them, so the context stores the first decision. These
// are shared symbols because the guards may belong to two copies of this package.
const RESULT = Symbol.for('nestjs-freq-limit:decision');
const GUARDS = Symbol.for('nestjs-freq-limit:guards');

type GuardResult = boolean | Promise<boolean>;

interface DecidedContext {
  [RESULT]?: GuardResult | undefined;
  /** The guard that decided, and those that were called after it. */
  [GUARDS]?: CanActivate | CanActivate[] | undefined;
}

/**
 * Decides once for each call of a handler: all guards that get the same context of Nest return the same decision, also a
 * denial. A context that the application made itself is decided each time.
 */
export function decideOnce(
  guard: CanActivate,
  context: ExecutionContext,
  config: ApplicationConfig,
  decide: (context: ExecutionContext) => GuardResult,
): GuardResult {
  if (!(context instanceof ExecutionContextHost)) return decide(context);
  const call = context as DecidedContext;
  if (call[RESULT] !== undefined) {
    const guards = [call[GUARDS] ?? []].flat().concat(guard);
    if (isOneCall(guards, context, config)) {
      call[GUARDS] = guards;
      return call[RESULT];
    }
  }
  call[GUARDS] = guard;
  return (call[RESULT] = decide(context));
}

/**
 * Whether all guards that were called with one context can belong to one call of its handler. Each guard is called once for
 * each place where it is declared for the handler. If it was called more often, the application has made the context and
 * uses it for several calls.
 * @param guards in the order of their calls; the last one may have been called before
 */
function isOneCall(
  guards: readonly CanActivate[],
  context: ExecutionContext,
  config: ApplicationConfig,
): boolean {
  const guard = guards.at(-1);
  const times = guards.filter((one) => one === guard).length;
  return times === 1 || times <= timesDeclared(guard, context, config);
}

/** How many of the guards declared for a handler are this one, or may call it. */
function timesDeclared(guard: unknown, context: ExecutionContext, config: ApplicationConfig): number {
  const onHandler = guardsOn(Object(context.getClass()) as object, Object(context.getHandler()) as object);
  return [...config.getGlobalGuards(), ...onHandler].filter((place) => leadsTo(place, guard)).length;
}

function leadsTo(place: unknown, guard: unknown): boolean {
  if (place === guard || place === (Object(guard) as object).constructor) return true;
  return injectsFreqLimitGuard(place);
}
