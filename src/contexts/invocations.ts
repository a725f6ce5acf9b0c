import type { ExecutionContext } from '@nestjs/common';
import { invocationOf } from './invocation.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';

/** What the guard has decided on one invocation of a handler, for those who come after it. */
export interface Invocation {
  readonly verdict: Verdict;
  /** Gives back what should not have counted, once; `undefined` where all counts anyway. */
  readonly settle: ((end: End) => MaybePromise<void>) | undefined;
}

/** How the invocation ended. */
export interface End {
  readonly succeeded: boolean;
  readonly error: unknown;
}

interface Kept extends Invocation {
  readonly classRef: unknown;
  readonly handler: unknown;
}

const MOST_KEPT = 64;

// shared by two copies of this package: the decorator may be of one, and the guard of the other
const KEPT = Symbol.for('nestjs-freq-limit:invocations');
const kept = ((globalThis as { [KEPT]?: WeakMap<object, Kept[]> | undefined })[KEPT] ??= new WeakMap<
  object,
  Kept[]
>());

/** Keeps what was decided for as long as the request, the message or the resolver's call lives. */
export function keep(context: ExecutionContext, invocation: Invocation): void {
  const owner = invocationOf(context);
  // a message of a plain value has nothing to itself but its client, who may send many
  const all = (kept.get(owner) ?? []).filter((one) => one.settle !== undefined || !isOf(one, context));
  kept.set(owner, [
    ...all.slice(-MOST_KEPT),
    { ...invocation, classRef: context.getClass(), handler: context.getHandler() },
  ]);
}

/** What was decided last on this handler. */
export function keptOf(context: ExecutionContext): Invocation | undefined {
  return kept.get(invocationOf(context))?.findLast((one) => isOf(one, context));
}

/** The same, and nobody gets it again: it is settled by who takes it. */
export function take(context: ExecutionContext): Invocation | undefined {
  const all = kept.get(invocationOf(context)) ?? [];
  const index = all.findIndex((one) => one.settle !== undefined && isOf(one, context));
  const found = all[index];
  if (found !== undefined) all[index] = { ...found, settle: undefined };
  return found;
}

function isOf({ classRef, handler }: Kept, context: ExecutionContext): boolean {
  return classRef === context.getClass() && handler === context.getHandler();
}
