import { type CheckResult, secondsToWait } from '../core/check.js';
import type { Verdict } from '../core/verdict.js';

/**
 * Which headers responses have.
 *
 * - `'draft-12'`: `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-12, with an item for each
 *   rule. `RateLimit-Policy` has the limit (`q`) and the seconds of the window (`w`), or the burst of a token bucket and the
 *   seconds in which an empty one is full. `RateLimit` has what is available (`a`), the seconds until the window ends or the
 *   bucket is full (`w`), and the cost of the request (`c`) if it is not 1.
 * - `'draft-11'`: the previous draft, which calls them `r` and `t` and has no cost.
 * - `'draft'`: the newest draft that this version knows, today `'draft-12'`.
 * - `'legacy'`: `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds) of the tightest rule.
 * - `'both'`: `'draft'` and `'legacy'`.
 * - `'retry-after'`: only `Retry-After`. Clients learn neither limits nor what remains.
 * - `'none'`: none.
 *
 * All except `'none'` send `Retry-After` (RFC 9110, 10.2.3) with a denial.
 */
export type HeadersOption = 'draft' | 'draft-12' | 'draft-11' | 'legacy' | 'both' | 'retry-after' | 'none';

/** The part of a verdict that headers show. */
export interface ShownVerdict {
  readonly results: readonly ShownResult[];
  readonly tightest: CheckResult | undefined;
}

export interface ShownResult extends CheckResult {
  /** In base64; absent if the header has none. */
  readonly partitionKey?: string;
}

export type Header = readonly [name: string, value: string];

type Format = (shown: ShownVerdict) => readonly Header[];

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
 * The headers of a verdict. Rules without a limit have none, and neither have results that are not from the store.
 * @param shown the part of the verdict that headers show; default: all of it
 */
export function headersFor(
  verdict: Verdict,
  option: HeadersOption,
  shown: ShownVerdict = verdict,
): readonly Header[] {
  const formats = FORMATS[option];
  const [format] = formats;
  // the usual case
  if (verdict.allowed && formats.length === 1 && format !== undefined) return format(shown);
  const headers = formats.flatMap((one) => one(shown));
  if (option !== 'none' && !verdict.allowed) {
    headers.push(['Retry-After', String(retryAfterSeconds(verdict))]);
  }
  return headers;
}

/** The names of the headers of a denial. */
export function headerNames(option: HeadersOption): readonly string[] {
  const draft = ['RateLimit-Policy', 'RateLimit'];
  const old = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
  const names: Record<HeadersOption, readonly string[]> = {
    draft,
    'draft-12': draft,
    'draft-11': draft,
    legacy: old,
    both: [...draft, ...old],
    'retry-after': [],
    none: [],
  };
  return option === 'none' ? [] : [...names[option], 'Retry-After'];
}

/** Whole seconds until a denied request would pass, at least 1: the longest wait of the rules that deny. */
export function retryAfterSeconds({ tightest }: Verdict): number {
  return tightest === undefined ? 1 : secondsToWait(tightest);
}

/** What one of the drafts calls the units that are available and the seconds until the window ends. */
interface DraftNames {
  readonly available: string;
  readonly window: string;
  readonly hasCost: boolean;
}

const DRAFT_12: DraftNames = { available: ';a=', window: ';w=', hasCost: true };
const DRAFT_11: DraftNames = { available: ';r=', window: ';t=', hasCost: false };

function draft12(shown: ShownVerdict): readonly Header[] {
  return draftHeaders(shown, DRAFT_12);
}

function draft11(shown: ShownVerdict): readonly Header[] {
  return draftHeaders(shown, DRAFT_11);
}

function draftHeaders(
  { results }: ShownVerdict,
  { available, window, hasCost }: DraftNames,
): readonly Header[] {
  const policies: Policy[] = [];
  let limits = '';
  for (const result of results) {
    const { remaining, resetAfterMs, source, cost, partitionKey, concurrency } = result;
    if (hasNoLimit(result) || source !== 'store') continue;
    const policy = policyOf(result);
    policies.push(partitionKey === undefined ? policy : withPartitionKey(policy, partitionKey));
    if (limits !== '') limits += ', ';
    limits += `${policy.name}${available}${integer(remaining)}`;
    // without an open window there is nothing to wait for, and with concurrency the time is not known: the draft lets us omit it
    if (resetAfterMs > 0 && concurrency !== true) limits += `${window}${integer(seconds(resetAfterMs))}`;
    if (hasCost && cost !== 1) limits += `;c=${integer(cost)}`;
    if (partitionKey !== undefined) limits += `;pk=:${partitionKey}:`;
  }
  return limits === ''
    ? []
    : [
        ['RateLimit-Policy', joinPolicies(policies)],
        ['RateLimit', limits],
      ];
}

/** The texts of a rule that are the same for each request, as long as its limit, its burst and its window are. */
interface Policy {
  readonly limit: number;
  readonly burst: number | undefined;
  readonly windowMs: number;
  readonly concurrency: true | undefined;
  readonly name: string;
  readonly text: string;
}

/** The quota unit of a rule without a window. */
const CONCURRENT_REQUESTS = ';qu="concurrent-requests"';

/** By the names of rules, of which an application has few. */
const known = new Map<string, Policy>();

function policyOf(result: ShownResult): Policy {
  const { name, limit, burst, windowMs, concurrency } = result;
  const policy = known.get(name);
  if (policy !== undefined && isOf(policy, result)) return policy;
  const unit = concurrency ? CONCURRENT_REQUESTS : `;w=${integer(secondsOfQuota(result))}`;
  const text = `"${name}";q=${integer(quotaOf(result))}${unit}`;
  const made = { limit, burst, windowMs, concurrency, name: `"${name}"`, text };
  known.set(name, made);
  return made;
}

function isOf(policy: Policy, { limit, burst, windowMs, concurrency }: ShownResult): boolean {
  if (policy.limit !== limit || policy.burst !== burst) return false;
  return policy.windowMs === windowMs && policy.concurrency === concurrency;
}

/** The most units that can be available. */
function quotaOf({ limit, burst = limit }: CheckResult): number {
  return burst;
}

/** The seconds in which the whole quota becomes available: the window, or the time in which an empty bucket is full. At least 1. */
function secondsOfQuota({ limit, burst, windowMs }: CheckResult): number {
  return burst === undefined || limit === 0
    ? seconds(windowMs)
    : Math.max(1, seconds((windowMs * burst) / limit));
}

function hasNoLimit(result: CheckResult): boolean {
  return result.limit === Infinity || quotaOf(result) === Infinity;
}

function withPartitionKey(policy: Policy, partitionKey: string): Policy {
  return { ...policy, text: `${policy.text};pk=:${partitionKey}:` };
}

/** The last list of policies that began with a name. Handlers mostly have the same rules for each request. */
const joined = new Map<string, { readonly policies: readonly Policy[]; readonly text: string }>();

function joinPolicies(policies: readonly Policy[]): string {
  const [first] = policies;
  if (first === undefined) return '';
  const last = joined.get(first.name);
  if (last !== undefined && isSameList(last.policies, policies)) return last.text;
  const text = policies.map((policy) => policy.text).join(', ');
  joined.set(first.name, { policies, text });
  return text;
}

function isSameList(a: readonly Policy[], b: readonly Policy[]): boolean {
  return a.length === b.length && a.every((policy, i) => policy === b[i]);
}

function legacy({ tightest }: ShownVerdict): readonly Header[] {
  if (tightest === undefined || hasNoLimit(tightest) || tightest.source !== 'store') return [];
  return [
    ['X-RateLimit-Limit', String(quotaOf(tightest))],
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
