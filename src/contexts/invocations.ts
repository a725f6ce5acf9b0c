import type { ExecutionContext } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { invocationOf, ownOf } from './invocation.js';
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

interface Shared {
  /** By what an invocation has to itself. An HTTP request may reach several handlers. */
  readonly kept: WeakMap<object, Kept[]>;
  /** The invocation under way, where its parameters have nothing to know it by. */
  readonly current: AsyncLocalStorage<Kept | undefined>;
}

/** Where a library calls handlers with one and the same object in the place of a request. */
const MOST_KEPT = 64;

// shared by two copies of this package: the decorator may be of one, and the guard of the other
const SHARED = Symbol.for('nestjs-freq-limit:invocations');
const { kept, current } = ((globalThis as { [SHARED]?: Shared | undefined })[SHARED] ??= {
  kept: new WeakMap(),
  current: new AsyncLocalStorage(),
});

/** Keeps what was decided for as long as the request, the message or the resolver's call lives. */
export function keep(context: ExecutionContext, invocation: Invocation): void {
  const owner = invocationOf(context);
  const one: Kept = { ...invocation, classRef: context.getClass(), handler: context.getHandler() };
  const others = kept.get(owner);
  if (others === undefined) kept.set(owner, [one]);
  else if (others.push(one) > MOST_KEPT) others.shift();
}

/** What was decided last on this handler. */
export function keptOf(context: ExecutionContext): Invocation | undefined {
  const found = lastOf(context);
  if (found !== undefined) return found;
  const running = current.getStore();
  return running !== undefined && isOf(running, context) ? running : undefined;
}

/** Goes on to the handler so that its parameters find what was decided, whatever its arguments are. */
export function withKept<T>(context: ExecutionContext, next: () => T): T {
  return ownOf(context) === undefined ? current.run(lastOf(context), next) : next();
}

/** What was decided, and nobody gets it again: it is settled by who takes it. */
export function take(context: ExecutionContext): Invocation | undefined {
  const all = kept.get(invocationOf(context)) ?? [];
  const index = all.findIndex((one) => one.settle !== undefined && isOf(one, context));
  const found = all[index];
  if (found !== undefined) all[index] = { ...found, settle: undefined };
  return found;
}

function lastOf(context: ExecutionContext): Kept | undefined {
  return kept.get(invocationOf(context))?.findLast((one) => isOf(one, context));
}

function isOf({ classRef, handler }: Kept, context: ExecutionContext): boolean {
  return classRef === context.getClass() && handler === context.getHandler();
}
