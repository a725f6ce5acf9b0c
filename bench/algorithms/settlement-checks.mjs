// The checks of leases and settlements, as a store gets them.
import { ROOMY } from '../apps/decorate.mjs';

const HOUR_MS = 3_600_000;
/** What each request charges before it is settled. */
export const CHARGED = 1_000_000;
/** How far the settled cost is from it. */
export const DIFFERENCE = 100;

const yearFrom = (startsAtMs) => ({
  type: 'calendar',
  startsAtMs,
  endsAtMs: startsAtMs + 365 * 24 * HOUR_MS,
  nextEndsAtMs: startsAtMs + 2 * 365 * 24 * HOUR_MS,
});

/** By kind of counter, what its checks have. */
export const KINDS = {
  'fixed window': { kind: { type: 'fixed-window' } },
  'sliding window': { kind: { type: 'sliding-window' } },
  // it does not refill during a run
  'token bucket': { kind: { type: 'token-bucket', burst: ROOMY }, limit: 1 },
  calendar: { kind: yearFrom(Date.now()) },
  'fixed window with blockFor': { block: { stepsMs: [2 * HOUR_MS], forgiveAfterMs: 24 * HOUR_MS } },
};

const LEASE = { kind: { type: 'concurrency' } };

const BASE = {
  ...{ cost: 1, limit: ROOMY, windowMs: HOUR_MS, kind: { type: 'fixed-window' }, block: undefined },
  ...{ countDenied: false, shadow: false, onStoreError: 'deny' },
};

/**
 * The checks of each request, each on a counter of its own.
 * @param name all are as long, because the length of a key has a cost
 */
export function requestsOf({ calls, checks }, name, parts) {
  const group = `fl:service.${name}~0123456789:${HOUR_MS}:`;
  const checkOf = (n, i) => {
    const text = `client-${n}-${i}`;
    return { ...BASE, ...parts, name, group, text, key: group + text };
  };
  return Array.from({ length: calls }, (_, n) =>
    Array.from({ length: checks }, (_check, i) => checkOf(n, i)),
  );
}

/** The same counters, with leases of this holder. */
export function leasesOf(size, name, holder, limit = ROOMY) {
  const requests = requestsOf(size, name, { ...LEASE, limit });
  return requests.map((checks, n) =>
    checks.map((check, i) => ({ ...check, lease: `${holder}-${n}-${i}`.padEnd(LEASE_ID_LENGTH, '0') })),
  );
}

/** As long as those of the library. */
const LEASE_ID_LENGTH = 22;
