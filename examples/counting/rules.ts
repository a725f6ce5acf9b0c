import type { FreqLimitRule } from 'nestjs-freq-limit';

/** Denied requests count too: a client that keeps sending them is denied by this rule as well. */
export const countsDenied: FreqLimitRule = {
  name: 'global',
  window: '1m',
  limit: 100,
  key: '{ip}',
  countDenied: true,
};

/** At most 100 requests in a window of a minute, and at most 20 in a window of a second. */
export const withBurstLimit: FreqLimitRule[] = [
  { name: 'global', window: '1m', limit: 100, key: '{ip}' },
  { name: 'burst', window: '1s', limit: 20, key: '{ip}' },
];

/** A search costs one unit for each 100 rows, up to 1,000 rows. */
export const byRows: FreqLimitRule = {
  name: 'rows',
  window: '1h',
  limit: 50,
  cost: (context) => {
    const { query } = context.switchToHttp().getRequest<{ query: { rows?: string } }>();
    const rows = Number(query.rows) || 100;
    return Math.ceil(Math.min(Math.max(rows, 1), 1_000) / 100);
  },
};
