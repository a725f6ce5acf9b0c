import type { ExecutionContext } from '@nestjs/common';
import { callIdentityOf } from '../decisions/call-identity.js';
import { type CallParts, isOf } from '../decisions/decisions.js';
import type { Leases } from './held-leases.js';

/** Leases of a call of a handler, which the interceptor around the handler releases. */
interface Claim extends CallParts {
  readonly leases: Leases;
}

/** The maximum number of claims for one object: a library may call handlers with the same one again and again. */
const MAX_CLAIMS = 64;

// shared by two copies of this package, because the interceptor may belong to one and the guard to the other
const SHARED = Symbol.for('nestjs-freq-limit:claims');
const claims = ((globalThis as { [SHARED]?: WeakMap<object, Claim[]> | undefined })[SHARED] ??=
  new WeakMap());

/** Lets the interceptor around the handler find the leases. */
export function offerLeases(context: ExecutionContext, leases: Leases): void {
  const call = callIdentityOf(context);
  const claim = {
    leases,
    classRef: context.getClass(),
    handler: context.getHandler(),
    args: context.getArgs(),
  };
  const others = claims.get(call);
  if (others === undefined) claims.set(call, [claim]);
  else if (others.push(claim) > MAX_CLAIMS) others.shift();
}

/** The leases of a call. Each is returned once. */
export function claimLeases(context: ExecutionContext): Leases[] {
  const all = claims.get(callIdentityOf(context));
  if (all === undefined) return [];
  const own = all.filter((claim) => isOf(claim, context));
  for (const claim of own) all.splice(all.indexOf(claim), 1);
  return own.map(({ leases }) => {
    leases.claim();
    return leases;
  });
}
