import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { ResolvedAdapter } from '../contexts/adapters.js';
import { isResponse } from '../contexts/graphql-context.js';
import type { CheckResult } from '../core/check.js';
import { plainKey } from '../core/key-hash.js';
import { isTighter, toVerdict, type Verdict } from '../core/verdict.js';
import type { ResolvedOptions } from '../freq-limit.options.js';
import { type Header, headersFor, type Shown, type ShownResult } from './headers.js';
import type { PlannedCheck } from '../rules/to-checks.js';

/** What is known of the visits that share a response; several guards may have let them in. */
const shared = new WeakMap<object, SharedAnswer>();

/** Sets the headers of an answer, wherever a visit's context has a response to set them on. */
export class ResponseHeaders {
  constructor(
    private readonly http: HttpAdapterHost,
    private readonly options: ResolvedOptions,
  ) {}

  /** Shows a verdict, but for rules that are nobody's business. */
  show(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
    adapter: ResolvedAdapter,
  ): void {
    const response = adapter.response?.(context);
    if (response === undefined || this.options.headers === 'none') return;
    const asked = { verdict, checks };
    const shown = adapter.sharesResponse ? this.tightest(asked, response) : asked;
    if (shown === undefined) return;
    this.set(headersFor(shown.verdict, this.options.headers, this.shownOf(shown)), response);
  }

  private shownOf(asked: VerdictOfCall): Shown {
    const shown = visible(asked);
    if (!this.options.partitionKeys) return shown;
    const byName = new Map(asked.checks.map((check) => [check.name, check]));
    return { ...shown, results: shown.results.map((one) => withPartitionKey(one, byName.get(one.name))) };
  }

  set(headers: readonly Header[], response: unknown): void {
    const adapter = this.http.httpAdapter;
    if (!isResponse(response) || adapter.isHeadersSent(response)) return;
    for (const [name, value] of headers) adapter.setHeader(response, name, value);
  }

  /**
   * The resolvers of one GraphQL operation answer together: the tightest of their verdicts is shown.
   * @returns `undefined` where it is shown already
   */
  private tightest(asked: VerdictOfCall, response: unknown): VerdictOfCall | undefined {
    if (!isResponse(response)) return undefined;
    const answer: SharedAnswer = shared.get(response) ?? { byVisit: new Map(), shown: undefined };
    shared.set(response, answer);
    const before = answer.byVisit.get(asked.checks);
    answer.byVisit.set(asked.checks, asked);
    const shown =
      before !== undefined && before === answer.shown
        ? // it was the tightest, and something was given back since
          [...answer.byVisit.values()].reduce(tighter)
        : tighter(answer.shown ?? asked, asked);
    if (shown === answer.shown) return undefined;
    answer.shown = shown;
    return shown;
  }
}

/** A visit's verdict, and what was asked for it. */
interface VerdictOfCall {
  readonly verdict: Verdict;
  readonly checks: readonly PlannedCheck[];
}

/** The requests of one response: the latest state of each, by its checks. */
interface SharedAnswer {
  readonly byVisit: Map<readonly PlannedCheck[], VerdictOfCall>;
  shown: VerdictOfCall | undefined;
}

/** The one that speaks for both; the first where there is nothing between them. */
function tighter(a: VerdictOfCall, b: VerdictOfCall): VerdictOfCall {
  const [one, other] = [a.verdict.tightest, b.verdict.tightest];
  if (one === undefined || other === undefined) return one === undefined ? b : a;
  return isTighter(other, one) ? b : a;
}

/** The verdict without the results of hidden rules and of those that only report. */
function visible({ verdict, checks }: VerdictOfCall): Verdict {
  if (checks.every(({ rule }) => !rule.hidden && !rule.shadow)) return verdict;
  return toVerdict(
    verdict.results.filter((_, i) => checks[i]?.rule.hidden === false && !checks[i].rule.shadow),
  );
}

/** The key's text as the store has it, an HMAC: it tells partitions apart, and nothing of what is in them. */
function withPartitionKey(result: CheckResult, check: PlannedCheck | undefined): ShownResult {
  if (check === undefined || check.rule.hashKey === plainKey) return result;
  return { ...result, partitionKey: Buffer.from(check.key.slice(check.group.length)).toString('base64') };
}
