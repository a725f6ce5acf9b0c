import type { ExecutionContext } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { callIdentityOf, ownObjectOf } from './call-identity.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';

/** What the guard has decided on one invocation of a handler, for those who come after it. */
export interface Decision {
  readonly verdict: Verdict;
  /** Gives back what should not have counted; `undefined` where all counts anyway. */
  readonly settle: Settle | undefined;
}

type Settle = (end: End) => MaybePromise<void>;

/** How the invocation ended. */
export interface End {
  readonly succeeded: boolean;
  readonly error: unknown;
}

interface SavedDecision extends Decision {
  readonly classRef: unknown;
  readonly handler: unknown;
  readonly args: unknown;
  /** Gone when somebody has it. */
  settle: Settle | undefined;
  /** Whether somebody waits for this invocation's end. */
  isClaimed: boolean;
}

interface Shared {
  /** By what an invocation has to itself. An HTTP request may reach several handlers. */
  readonly kept: WeakMap<object, SavedDecision[]>;
  /** The invocation under way, where its parameters have nothing to know it by. */
  readonly current: AsyncLocalStorage<SavedDecision | undefined>;
}

/** Where a library calls handlers with one and the same object in the place of a request. */
const MAX_SAVED = 64;

// shared by two copies of this package: the decorator may be of one, and the guard of the other
const SHARED = Symbol.for('nestjs-freq-limit:invocations');
const { kept, current } = ((globalThis as { [SHARED]?: Shared | undefined })[SHARED] ??= {
  kept: new WeakMap(),
  current: new AsyncLocalStorage(),
});

/** Keeps what was decided for as long as the request, the message or the resolver's call lives. */
export function saveDecision(context: ExecutionContext, invocation: Decision): void {
  const owner = callIdentityOf(context);
  const one: SavedDecision = {
    ...invocation,
    classRef: context.getClass(),
    handler: context.getHandler(),
    args: context.getArgs(),
    isClaimed: false,
  };
  const others = kept.get(owner);
  if (others === undefined) kept.set(owner, [one]);
  else if (others.push(one) > MAX_SAVED) others.shift();
}

/** What was decided last on this handler. */
export function findDecision(context: ExecutionContext): Decision | undefined {
  const found = lastOf(context);
  if (found !== undefined) return found;
  const running = current.getStore();
  return running !== undefined && isOf(running, context) ? running : undefined;
}

/** Goes on to the handler so that its parameters find what was decided, whatever its arguments are. */
export function runWithDecision<T>(context: ExecutionContext, next: () => T): T {
  return ownObjectOf(context) === undefined ? current.run(lastOf(context), next) : next();
}

/**
 * For who is to see how the invocation ends: nobody else can claim it, and whoever `take`s it first settles it.
 * @returns settles it once; `undefined` where there is nothing to settle
 */
export function claimSettlement(context: ExecutionContext): Settle | undefined {
  const found = openOf(context).find(({ isClaimed }) => !isClaimed);
  if (found === undefined) return undefined;
  found.isClaimed = true;
  return (end) => takeSettlement(found)?.(end);
}

/** What is not settled yet, claimed or not; nobody gets it again. */
export function takeUnsettled(context: ExecutionContext): Decision | undefined {
  const [found] = openOf(context);
  return found && { verdict: found.verdict, settle: takeSettlement(found) };
}

function takeSettlement(one: SavedDecision): Settle | undefined {
  const { settle } = one;
  one.settle = undefined;
  return settle;
}

function openOf(context: ExecutionContext): SavedDecision[] {
  const all = kept.get(callIdentityOf(context)) ?? [];
  return all.filter((one) => one.settle !== undefined && isOf(one, context));
}

function lastOf(context: ExecutionContext): SavedDecision | undefined {
  return kept.get(callIdentityOf(context))?.findLast((one) => isOf(one, context));
}

/** A library or the application may call several handlers with the same object, so class, handler and arguments are compared. */
function isOf({ classRef, handler, args }: SavedDecision, context: ExecutionContext): boolean {
  if (classRef !== context.getClass() || handler !== context.getHandler()) return false;
  return isSame(args, context.getArgs());
}

/** Guards, interceptors and parameters get different arrays with the same arguments. */
function isSame(args: unknown, others: unknown): boolean {
  if (args === others || !Array.isArray(args) || !Array.isArray(others)) return args === others;
  return args.length === others.length && args.every((one, i) => one === others[i]);
}
