import { randomBytes } from 'node:crypto';

/** Times of leases, in milliseconds. No option changes them; tests make them shorter. */
export const LEASE_TIMES = {
  /** How long a lease counts after it is taken or renewed. */
  lifeMs: 15_000,
  /** How often a process renews its leases. */
  renewEveryMs: 5_000,
};

// all processes have as many characters, so that no counter makes two ids equal
const PROCESS = randomBytes(9).toString('base64url');
let count = 0;

/** An id for a lease, unique over all processes. */
export function newLeaseId(): string {
  return PROCESS + (++count).toString(36);
}
