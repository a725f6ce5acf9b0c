import type { ExecutionContext } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { callIdentityOf, ownArgumentOf } from './call-identity.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import type { NamedCharges } from './charge.js';

/** The guard's decision about one request, for the interceptors and parameter decorators that run after it. */
export interface Decision {
  readonly verdict: Verdict;
  /** What the handler may settle itself; `undefined` if it has no parameter for it. */
  readonly charges?: NamedCharges | undefined;
  /** Settles what the outcome decides; `undefined` if that is nothing. */
  readonly settle?: Settle | undefined;
  /** Whether that is done when the handler has returned all its values, not before the first one. */
  readonly settlesAtEnd?: boolean;
}

type Settle = (end: HandlerEnd) => MaybePromise<void>;

/** How the handler ended. */
export interface HandlerEnd {
  readonly succeeded: boolean;
  readonly error: unknown;
  /** What it returned; absent if that is not known. */
  readonly result?: unknown;
  /** Whether it failed or was stopped after it had returned a value. */
  readonly isCut?: boolean;
  /** Whether the client is gone. How much of the response it got is unknown. */
  readonly isGone?: boolean;
}

/** A settlement that waits for the end of a handler. */
export interface ClaimedSettlement {
  readonly settle: Settle;
  readonly settlesAtEnd: boolean;
}

interface SavedDecision extends Decision {
  readonly classRef: unknown;
  readonly handler: unknown;
  readonly args: unknown;
  /** `undefined` once it is taken. */
  settle?: Settle | undefined;
  /** Whether an interceptor waits for the end of the handler. */
  isClaimed: boolean;
}

interface Shared {
  /** By the identity of the call. One HTTP request may reach several handlers. */
  readonly saved: WeakMap<object, SavedDecision[]>;
  /** The decision about the running request, if its parameters have no object of their own. */
  readonly current: AsyncLocalStorage<SavedDecision | undefined>;
}

/** The maximum number of decisions for one object: a library may call handlers with the same one again and again. */
const MAX_SAVED = 64;

// shared by two copies of this package, because the decorator may belong to one and the guard to the other
const SHARED = Symbol.for('nestjs-freq-limit:decisions');
const { saved, current } = ((globalThis as { [SHARED]?: Shared | undefined })[SHARED] ??= {
  saved: new WeakMap(),
  current: new AsyncLocalStorage(),
});

/** Saves a decision as long as the request, the message or the resolver's call exists. */
export function saveDecision(context: ExecutionContext, decision: Decision): void {
  const call = callIdentityOf(context);
  const one: SavedDecision = {
    ...decision,
    classRef: context.getClass(),
    handler: context.getHandler(),
    args: context.getArgs(),
    isClaimed: false,
  };
  const others = saved.get(call);
  if (others === undefined) saved.set(call, [one]);
  else if (others.push(one) > MAX_SAVED) others.shift();
}

/** The last decision about this handler and these arguments. */
export function findDecision(context: ExecutionContext): Decision | undefined {
  const found = lastOf(context);
  if (found !== undefined) return found;
  const running = current.getStore();
  return running !== undefined && isOf(running, context) ? running : undefined;
}

/** Runs the handler so that its parameters find the decision, whatever its arguments are. */
export function runWithDecision<T>(context: ExecutionContext, next: () => T): T {
  return ownArgumentOf(context) === undefined ? current.run(lastOf(context), next) : next();
}

/**
 * Claims the settlement for the interceptor that will see how the handler ends; only one interceptor can claim it. If
 * {@link takeUnsettled} takes it before, it is settled there.
 * @returns a settlement whose function settles once; `undefined` if there is nothing to settle
 */
export function claimSettlement(context: ExecutionContext): ClaimedSettlement | undefined {
  const found = unsettledOf(context).find(({ isClaimed }) => !isClaimed);
  if (found === undefined) return undefined;
  found.isClaimed = true;
  return { settle: (end) => takeSettlement(found)?.(end), settlesAtEnd: found.settlesAtEnd === true };
}

/** Takes a decision that is not settled yet, claimed or not. It is returned once. */
export function takeUnsettled(context: ExecutionContext): Decision | undefined {
  const [found] = unsettledOf(context);
  return found && { verdict: found.verdict, settle: takeSettlement(found) };
}

function takeSettlement(one: SavedDecision): Settle | undefined {
  const { settle } = one;
  one.settle = undefined;
  return settle;
}

function unsettledOf(context: ExecutionContext): SavedDecision[] {
  const all = saved.get(callIdentityOf(context)) ?? [];
  return all.filter((one) => one.settle !== undefined && isOf(one, context));
}

function lastOf(context: ExecutionContext): SavedDecision | undefined {
  return saved.get(callIdentityOf(context))?.findLast((one) => isOf(one, context));
}

/** The parts of a call that are compared to find out whether something belongs to it. */
export type CallParts = Pick<SavedDecision, 'classRef' | 'handler' | 'args'>;

/** Several handlers may be called with the same object, so class, handler and arguments are compared. */
export function isOf({ classRef, handler, args }: CallParts, context: ExecutionContext): boolean {
  if (classRef !== context.getClass() || handler !== context.getHandler()) return false;
  return isSame(args, context.getArgs());
}

/** Guards, interceptors and parameter decorators get different arrays with the same arguments. */
function isSame(args: unknown, others: unknown): boolean {
  if (args === others || !Array.isArray(args) || !Array.isArray(others)) return args === others;
  return args.length === others.length && args.every((one, i) => one === others[i]);
}
