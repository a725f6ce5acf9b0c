import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { ResolvedAdapter } from '../contexts/adapters.js';
import { isResponse } from '../contexts/graphql-context.js';
import type { CheckResult } from '../core/check.js';
import { plainKey } from '../core/key-hash.js';
import { isTighter, toVerdict, type Verdict } from '../core/verdict.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import type { AnswerOptions } from './answer-options.js';
import { type Header, headersFor, type ShownResult, type ShownVerdict } from './headers.js';

/** The verdict of one guarded call, with the checks that it is about. */
interface VerdictOfCall {
  readonly verdict: Verdict;
  readonly checks: readonly PlannedCheck[];
}

/** The calls that share a response, such as the resolvers of one GraphQL operation. */
interface SharedResponse {
  /** The latest verdict of each call, by its checks. */
  readonly calls: Map<readonly PlannedCheck[], VerdictOfCall>;
  /** The call whose headers are set. */
  shown: VerdictOfCall | undefined;
}

// for the whole process: several guards may set headers on one response
const shared = new WeakMap<object, SharedResponse>();

/** Sets headers on the response of a request, if its context has one. */
export class ResponseHeaders {
  constructor(
    private readonly http: HttpAdapterHost,
    private readonly options: AnswerOptions,
  ) {}

  /** Sets the headers of a verdict. Hidden and shadow rules have none. */
  show(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
    adapter: ResolvedAdapter,
  ): void {
    const response = adapter.response?.(context);
    if (response === undefined || this.options.headers === 'none') return;
    const call = { verdict, checks };
    const shown = adapter.sharesResponse ? tightestOf(call, response) : call;
    if (shown === undefined) return;
    this.set(headersFor(shown.verdict, this.options.headers, this.shownVerdict(shown)), response);
  }

  set(headers: readonly Header[], response: unknown): void {
    const adapter = this.http.httpAdapter;
    if (!isResponse(response) || adapter.isHeadersSent(response)) return;
    for (const [name, value] of headers) adapter.setHeader(response, name, value);
  }

  private shownVerdict(call: VerdictOfCall): ShownVerdict {
    const verdict = withoutHidden(call);
    if (!this.options.partitionKeys) return verdict;
    const byName = new Map(call.checks.map((check) => [check.name, check]));
    return { ...verdict, results: verdict.results.map((one) => withPartitionKey(one, byName.get(one.name))) };
  }
}

/**
 * The call with the tightest verdict of those that share the response.
 * @returns `undefined` if its headers are set already
 */
function tightestOf(call: VerdictOfCall, response: unknown): VerdictOfCall | undefined {
  if (!isResponse(response)) return undefined;
  const known: SharedResponse = shared.get(response) ?? { calls: new Map(), shown: undefined };
  shared.set(response, known);
  const earlier = known.calls.get(call.checks);
  known.calls.set(call.checks, call);
  const tightest =
    earlier !== undefined && earlier === known.shown
      ? // this call was the tightest, and got a refund
        [...known.calls.values()].reduce(tighter)
      : tighter(known.shown ?? call, call);
  if (tightest === known.shown) return undefined;
  known.shown = tightest;
  return tightest;
}

/** The tighter of two; the first if they are equal. */
function tighter(a: VerdictOfCall, b: VerdictOfCall): VerdictOfCall {
  const [one, other] = [a.verdict.tightest, b.verdict.tightest];
  if (one === undefined || other === undefined) return one === undefined ? b : a;
  return isTighter(other, one) ? b : a;
}

/** The verdict without the results of hidden rules and of shadow rules. */
function withoutHidden({ verdict, checks }: VerdictOfCall): Verdict {
  if (!checks.some(isWithoutHeaders)) return verdict;
  return toVerdict(
    verdict.results.filter((_, i) => {
      const check = checks[i];
      return check !== undefined && !isWithoutHeaders(check);
    }),
  );
}

function isWithoutHeaders({ rule }: PlannedCheck): boolean {
  return rule.hidden || rule.shadow;
}

/** The partition key is the hashed text of the key: it distinguishes clients and reveals nothing about them. */
function withPartitionKey(result: CheckResult, check: PlannedCheck | undefined): ShownResult {
  if (check === undefined || check.rule.hashKey === plainKey) return result;
  return { ...result, partitionKey: Buffer.from(check.key.slice(check.group.length)).toString('base64') };
}
