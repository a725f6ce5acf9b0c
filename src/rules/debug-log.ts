import type { ExecutionContext } from '@nestjs/common';
import { debuglog } from 'node:util';
import type { CheckResult } from '../core/check.js';
import { formatForLog, oneLine } from '../core/errors.js';
import type { Verdict } from '../core/verdict.js';
import { isAboveAll } from './block.js';
import { kindTexts, spanText, valueText, windowText } from './kind-text.js';
import type { Plan } from './plan.js';
import type { PlannedRule } from './planned-rule.js';
import type { MissingKey, PlannedCheck } from './to-checks.js';

/** Writes to stderr if the environment variable `NODE_DEBUG` contains `freq-limit`. */
const log = debuglog('freq-limit');
const MAX_LINE_LENGTH = 4_096;

/** A handler and its plan. */
interface HandlerWithPlan {
  readonly classRef: { readonly name: string };
  readonly name: string;
  readonly plan: Plan;
}

/** Prints the plans of all handlers, one line for each rule. */
export function debugPlans(handlers: () => readonly HandlerWithPlan[]): void {
  if (!log.enabled) return;
  for (const { classRef, name, plan } of handlers()) {
    for (const rule of plan.rules) write(`${classRef.name}.${name} plan: ${ruleText(rule)}`);
  }
}

/** Prints the checks and the verdict of each request. Keys are printed as the store has them, so `hashKeys` hides values. */
export class RequestDebugLog {
  private readonly numbers = new WeakMap<object, number>();
  private count = 0;

  /** @returns `undefined` if the debug log is off: then requests pay nothing for it */
  static ifEnabled(): RequestDebugLog | undefined {
    return log.enabled ? new RequestDebugLog() : undefined;
  }

  checks(context: ExecutionContext, checks: readonly PlannedCheck[] | MissingKey): void {
    const number = ++this.count;
    this.numbers.set(checks, number);
    write(`#${number} ${handlerOf(context)} checks: ${checksText(checks)}`);
  }

  /** @param checks the array that was passed to {@link checks}: it connects the two lines */
  verdict(
    context: ExecutionContext,
    checks: readonly PlannedCheck[],
    { allowed, source, results }: Verdict,
  ): void {
    const answer = `${allowed ? 'allowed' : 'denied'}, source ${source}`;
    const number = this.numbers.get(checks) ?? '?';
    write(`#${number} ${handlerOf(context)} verdict: ${[answer, ...results.map(resultText)].join('; ')}`);
  }
}

/** One line, whatever a client or the application has put into it. */
function write(line: string): void {
  log('%s', oneLine(line, MAX_LINE_LENGTH));
}

function handlerOf(context: ExecutionContext): string {
  return `${context.getClass().name}.${context.getHandler().name}`;
}

function ruleText(rule: PlannedRule): string {
  const { name, limit, key, scope, place, cost, actualCost, maxShare, countDenied, shouldCount, shadow } =
    rule;
  return [
    `"${name}" ${valueText(limit)} ${windowText(rule)} by ${formatForLog(key.spec)}, scope ${scope}, from ${place}`,
    ...kindTexts(rule),
    `cost ${valueText(cost)}`,
    ...(actualCost === undefined ? [] : ['actualCost']),
    ...(maxShare === undefined ? [] : [`maxShare ${maxShare}`]),
    `onMissingKey ${rule.onMissingKey}`,
    `onStoreError ${rule.onStoreError}`,
    ...(countDenied ? ['countDenied'] : []),
    ...(shouldCount === undefined ? [] : ['countWhen']),
    ...(rule.skipIf === undefined ? [] : ['skipIf']),
    ...(shadow ? ['shadow'] : []),
  ].join(', ');
}

function checksText(checks: readonly PlannedCheck[] | MissingKey): string {
  if (!('length' in checks)) {
    const { rule, isTooLong } = checks;
    return `rule "${rule.name}" denies the request, ${isTooLong ? 'a value is too long' : 'a value is missing'}`;
  }
  return checks.map(checkText).join('; ') || 'none';
}

function checkText(check: PlannedCheck): string {
  const { name, key, cost, aboveShare } = check;
  const { limit, kind } = aboveShare ?? check;
  const above = aboveShare === undefined ? 'the limit' : 'maxShare';
  const isAbove = aboveShare !== undefined || isAboveAll(cost, limit, kind);
  const problem = isAbove ? `, which is above ${above}, so it never passes` : '';
  const span = spanText({ ...check, kind });
  return `"${name}" cost ${cost}${problem}, limit ${limit} ${span}, key ${key}`;
}

function resultText(result: CheckResult): string {
  const { name, allowed, used, limit, burst, resetAfterMs, retryAfterMs, shadow, blocked } = result;
  const denied = `denied${blocked ? ' by a block' : ''}, retryAfterMs ${retryAfterMs}`;
  const answer = `${shadow ? 'shadow ' : ''}${allowed ? 'allowed' : denied}`;
  return `"${name}" ${answer}, used ${used} of ${burst ?? limit}, resetAfterMs ${resetAfterMs}`;
}
