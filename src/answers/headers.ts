import type { CheckResult } from '../core/check.js';
import type { Verdict } from '../core/verdict.js';

/**
 * Which headers an answer carries.
 *
 * - `'draft-12'`: `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-12, an item for each rule:
 *   what is available `a` and the seconds it is for `w`, and the visit's cost `c` where it is not 1;
 * - `'draft-11'`: the same of the draft before, which calls them `r` and `t`;
 * - `'draft'`: the newest draft known, today `'draft-12'`;
 * - `'legacy'`: `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds) of the tightest rule;
 * - `'both'`: the newest draft and legacy;
 * - `'retry-after'`: only `Retry-After`: limits and what remains are nobody's business;
 * - `'none'`: none, `Retry-After` included.
 *
 * All but `'none'` send `Retry-After` (RFC 9110, 10.2.3) with a denial.
 */
export type HeadersOption = 'draft' | 'draft-12' | 'draft-11' | 'legacy' | 'both' | 'retry-after' | 'none';

/** A verdict, as far as its numbers are told. */
export interface Shown {
  readonly results: readonly ShownResult[];
  readonly tightest: CheckResult | undefined;
}

/** A result that is told, with the partition key of its counter where that is wanted, in base64. */
export interface ShownResult extends CheckResult {
  readonly partitionKey?: string;
}

export type Header = readonly [name: string, value: string];

type Format = (shown: Shown) => readonly Header[];

const FORMATS: Record<HeadersOption, readonly Format[]> = {
  draft: [draft12],
  'draft-12': [draft12],
  'draft-11': [draft11],
  legacy: [legacy],
  both: [draft12, legacy],
  'retry-after': [],
  none: [],
};

/**
 * The headers of a verdict. Rules without a limit have none, and none has what the store itself has not answered.
 * @param shown the part of the verdict whose numbers are told
 */
export function headersFor(verdict: Verdict, option: HeadersOption, shown: Shown = verdict): Header[] {
  const headers: Header[] = [];
  for (const format of FORMATS[option]) headers.push(...format(shown));
  if (option !== 'none' && !verdict.allowed)
    headers.push(['Retry-After', String(retryAfterSeconds(verdict))]);
  return headers;
}

/** The names of the headers that a denial carries. */
export function headerNames(option: HeadersOption): readonly string[] {
  const drafted = ['RateLimit-Policy', 'RateLimit'];
  const inherited = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
  const names: Record<HeadersOption, readonly string[]> = {
    draft: drafted,
    'draft-12': drafted,
    'draft-11': drafted,
    legacy: inherited,
    both: [...drafted, ...inherited],
    'retry-after': [],
    none: [],
  };
  return option === 'none' ? [] : [...names[option], 'Retry-After'];
}

/** Whole seconds until the denied request would pass: the longest wait of the denying rules, at least 1. */
export function retryAfterSeconds(verdict: Verdict): number {
  return Math.max(1, seconds(verdict.tightest?.retryAfterMs ?? 0));
}

function draft12(shown: Shown): readonly Header[] {
  return drafted(shown, 'a', 'w', ({ cost }) => (cost === 1 ? '' : `;c=${integer(cost)}`));
}

function draft11(shown: Shown): readonly Header[] {
  return drafted(shown, 'r', 't', () => '');
}

function drafted(
  { results }: Shown,
  available: string,
  window: string,
  costOf: (result: CheckResult) => string,
): readonly Header[] {
  let policies = '';
  let limits = '';
  for (const result of results) {
    const { name, limit, windowMs, remaining, resetAfterMs, source, partitionKey } = result;
    if (limit === Infinity || source !== 'store') continue;
    const separator = policies === '' ? '' : ', ';
    const partition = partitionKey === undefined ? '' : `;pk=:${partitionKey}:`;
    policies += `${separator}"${name}";q=${integer(limit)};w=${integer(seconds(windowMs))}${partition}`;
    limits += `${separator}"${name}";${available}=${integer(remaining)}`;
    // where no window is open there is no time to tell, and it may be left out
    if (resetAfterMs > 0) limits += `;${window}=${integer(seconds(resetAfterMs))}`;
    limits += costOf(result) + partition;
  }
  return policies === ''
    ? []
    : [
        ['RateLimit-Policy', policies],
        ['RateLimit', limits],
      ];
}

function legacy({ tightest }: Shown): readonly Header[] {
  if (tightest === undefined || tightest.limit === Infinity || tightest.source !== 'store') return [];
  return [
    ['X-RateLimit-Limit', String(tightest.limit)],
    ['X-RateLimit-Remaining', String(tightest.remaining)],
    ['X-RateLimit-Reset', String(seconds(tightest.resetAfterMs))],
  ];
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/** Integers of structured fields have at most 15 digits (RFC 9651, 3.3.1). */
function integer(value: number): number {
  return Math.min(value, 999_999_999_999_999);
}
