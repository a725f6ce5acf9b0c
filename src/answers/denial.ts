import { durationInWords } from '../core/duration-text.js';
import type { Verdict } from '../core/verdict.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import { retryAfterSeconds } from './headers.js';

/** What a client gets if a limit denies its request. */
export interface Denial {
  /** The HTTP status: 429, or the `statusCode` of the rule. */
  readonly statusCode: number;
  /** A sentence for people, such as `Too many requests. Try again in 8 seconds.` */
  readonly message: string;
  /** Whole seconds until the request would pass, at least 1. */
  readonly retryAfter: number;
  /** Names of the rules that deny. */
  readonly rules: readonly string[];
}

const TOO_MANY = 'Too many requests.';
const AT_ONCE = 'Too many requests at once.';
const ABOVE_SHARE = 'This request costs more than one request may use of a limit, so it cannot pass.';

/** The denial of a verdict by itself, without the options of its rules. */
export function defaultDenial(verdict: Verdict): Denial {
  const retryAfter = retryAfterSeconds(verdict);
  const denying = verdict.results.filter(({ allowed, shadow }) => !allowed && shadow !== true);
  return {
    statusCode: 429,
    message: denying.some(({ aboveMaxShare }) => aboveMaxShare)
      ? ABOVE_SHARE
      : `${verdict.tightest?.concurrency ? AT_ONCE : TOO_MANY} Try again in ${durationInWords(retryAfter)}.`,
    retryAfter,
    rules: denying.map(({ name }) => name),
  };
}

const NEVER_PASSES = 'This request costs more than a limit allows at once, so it cannot pass.';

/** The denial of a verdict: the status of the tightest rule, without the names of hidden rules. */
export function denialOf(verdict: Verdict, checks: readonly PlannedCheck[]): Denial {
  const denial = defaultDenial(verdict);
  const hidden = checks.filter((check) => check.rule.hidden).map(({ name }) => name);
  return {
    ...denial,
    statusCode: tightestRule(verdict, checks)?.statusCode ?? denial.statusCode,
    message: neverPasses(verdict, checks) ? NEVER_PASSES : denial.message,
    rules: denial.rules.filter((name) => !hidden.includes(name)),
  };
}

/** Whether the request costs more than a full token bucket contains, apart from `maxShare`, which has its own message. A limit of 0 is not meant for this request alone. */
function neverPasses({ results }: Verdict, checks: readonly PlannedCheck[]): boolean {
  return checks.some(
    ({ kind, cost, aboveShare }, i) =>
      kind.type === 'token-bucket' &&
      kind.burst > 0 &&
      cost > kind.burst &&
      aboveShare === undefined &&
      results[i]?.allowed === false,
  );
}

/** The rule of the tightest result. */
export function tightestRule(
  { results, tightest }: Verdict,
  checks: readonly PlannedCheck[],
): PlannedRule | undefined {
  return checks[results.findIndex((result) => result === tightest)]?.rule;
}
