import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { ContextAdapter } from './contexts/context-adapter.js';
import type { CheckResult } from './core/check.js';
import { UNSEALED } from './core/seal.js';
import { isTighter, toVerdict, type Verdict } from './core/verdict.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import { type Header, headersFor, type Shown, type ShownResult } from './http/headers.js';
import type { PlannedCheck } from './rules/resolve.js';

/** Sets the headers of an answer, wherever a visit's context has a response to set them on. */
export class AnswerHeaders {
  /** What responses that several visits share show already. */
  private readonly shown = new WeakMap<object, Verdict>();

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly options: ResolvedOptions,
  ) {}

  /** Shows a verdict, but for rules that are nobody's business. */
  show(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): void {
    const response = adapter.response?.(context);
    if (response === undefined || this.options.headers === 'none') return;
    if (context.getType() !== 'http' && !this.isTightest(verdict, response)) return;
    this.set(headersFor(verdict, this.options.headers, this.shownOf(verdict, checks)), response);
  }

  private shownOf(verdict: Verdict, checks: readonly PlannedCheck[]): Shown {
    const shown = visible(verdict, checks);
    if (!this.options.partitionKeys) return shown;
    const byName = new Map(checks.map((check) => [check.name, check]));
    return { ...shown, results: shown.results.map((one) => withPartitionKey(one, byName.get(one.name))) };
  }

  set(headers: readonly Header[], response: unknown): void {
    const adapter = this.http.httpAdapter;
    if (!isResponse(response) || adapter.isHeadersSent(response)) return;
    for (const [name, value] of headers) adapter.setHeader(response, name, value);
  }

  /** The resolvers of one GraphQL operation answer together: the tightest of their verdicts is shown. */
  private isTightest(verdict: Verdict, response: unknown): boolean {
    const before = this.shown.get(Object(response) as object);
    const isShown =
      before?.tightest === undefined ||
      (verdict.tightest !== undefined && isTighter(verdict.tightest, before.tightest));
    if (isShown) this.shown.set(Object(response) as object, verdict);
    return isShown;
  }
}

/** The verdict without the results of hidden rules and of those that only report. */
function visible(verdict: Verdict, checks: readonly PlannedCheck[]): Verdict {
  if (checks.every(({ rule }) => !rule.hidden && !rule.shadow)) return verdict;
  return toVerdict(
    verdict.results.filter((_, i) => checks[i]?.rule.hidden === false && !checks[i].rule.shadow),
  );
}

/** The key's text as the store has it, an HMAC: it tells partitions apart, and nothing of what is in them. */
function withPartitionKey(result: CheckResult, check: PlannedCheck | undefined): ShownResult {
  if (check === undefined || check.rule.seal === UNSEALED) return result;
  return { ...result, partitionKey: Buffer.from(check.key.slice(check.group.length)).toString('base64') };
}

/** Both platforms' responses; contexts of GraphQL may hold anything. */
function isResponse(response: unknown): response is object {
  return typeof (Object(response) as { readonly header?: unknown }).header === 'function';
}
