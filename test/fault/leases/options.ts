/** The processes that run at the same time. */
export const SIZE = 8;
/** Of each limit in each process, while Redis is away. */
export const SHARE_OF_FALLBACK = 1 / SIZE;

export interface WorkerOptions {
  readonly name: string;
  readonly port: number;
  readonly namespace: string;
  /** Where it writes its reports. */
  readonly file: string;
  readonly times: LeaseTimes;
}

export interface LeaseTimes {
  readonly lifeMs: number;
  readonly renewEveryMs: number;
}

/** The most leases of a user at once, by rule. Without Redis, `strict` denies, and `soft` counts in memory. */
export const LIMITS = { strict: 5, soft: 16 } as const;
export type RuleName = keyof typeof LIMITS;

/** The start of the names of checks that a request has for itself, with its id as the key. */
export const OWN_COST = 'own-';
/** The same of checks that are charged together with them, on counters that all processes share. */
export const SHARED_COST = 'shared-';
