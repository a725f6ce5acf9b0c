// Applications of one route, whose requests have a settled cost or a lease.

const KEY = '{headers.x-client}';

const ours = (limits, more) => ({ kind: 'ours', options: { limits, store: 'redis', key: KEY, ...more } });

/** The module without a rule: all others are compared with it. */
export const NO_RULE = 'no rule';

export const APPLICATIONS = {
  [NO_RULE]: ours(0),
  'one limit': ours(1),
  'one limit, settled': ours(1, { settled: true }),
  'a lease': ours(0, { leases: 1 }),
  'one limit and a lease': ours(1, { leases: 1 }),
  'one limit, settled, and a lease': ours(1, { settled: true, leases: 1 }),
  'five limits': ours(5),
  'five limits, settled': ours(5, { settled: true }),
};

/** Another build, for comparison: see BENCH_AGAINST. */
export const BEFORE = {
  'one limit, before': ours(1, { before: true }),
  'five limits, before': ours(5, { before: true }),
};
