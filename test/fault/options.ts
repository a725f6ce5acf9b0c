export const TIMEOUT_MS = 250;

/** The store as an application has it, without the deny cache, which would answer denied requests by itself. */
export const STORE_OPTIONS = {
  timeoutMs: TIMEOUT_MS,
  coalesce: true,
  denyCache: false,
  maxCounters: 100_000,
  fallbackShare: 1,
  hashTag: undefined,
};
