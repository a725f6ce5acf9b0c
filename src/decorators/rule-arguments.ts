import { formatForLog } from '../core/errors.js';
import { calendarText, isCalendarUnit } from '../rules/any-window.js';
import { looksLikeCalendarWindow } from '../rules/calendar/read-calendar-window.js';
import { copyRule } from '../rules/copy-rule.js';
import type { AnyRule } from '../rules/rule.js';
import { looksLikeRule, mistakeIn } from '../rules/rule-mistakes.js';
import { RULE_NAME } from '../rules/validators.js';
import { looksLikeWindow } from '../rules/window.js';
import { WrongArguments } from '../rules/wrong-arguments.js';

/** What the arguments of `@FreqLimit` mean: a rule, or a rule of `namedRules` and the changes to it. */
export type RuleArguments =
  | { readonly rule: AnyRule; readonly named?: undefined }
  | { readonly named: string; readonly changes: object };

/** Reads the arguments of `@FreqLimit`. Wrong values of options are found when the rule is planned. */
export function readRuleArguments(given: readonly unknown[]): RuleArguments {
  const problem = problemIn(given);
  // reported at start-up, together with all other mistakes
  if (problem !== undefined) return { rule: asRule(new WrongArguments(problem)) };
  const [first, second, key] = given;
  if (isObject(first) && !isCalendarArgument(first, second)) return { rule: asRule(copyRule(first)) };
  if (typeof first === 'string' && isChanges(second) && key === undefined)
    return { named: first, changes: copyRule(second ?? {}) };
  return { rule: asRule({ window: first, limit: second, key }) };
}

/** The mistake in the arguments, and how to write them. */
function problemIn(given: readonly unknown[]): string | undefined {
  const [first, second, key] = given;
  if (given.length === 0) return "arguments are missing; write @FreqLimit('1m', 5)";
  if (first === undefined && isOnlyFirst(given)) return mistakeIn(first);
  if (Array.isArray(first)) return 'takes one rule, not a list; write one @FreqLimit for each rule';
  if (isObject(first)) {
    if (isCalendarArgument(first, second)) return problemAfterCalendar(first, given);
    return isOnlyFirst(given)
      ? undefined
      : 'takes one object with all options of the rule, and nothing after it';
  }
  if (given.length > 3 || (isObject(key) && !Array.isArray(key))) {
    return "the arguments are window, limit and key; write other options in one object: @FreqLimit({ window: '1m', limit: 5, … })";
  }
  if (typeof first === 'number' && typeof second === 'string' && looksLikeWindow(second)) {
    return `the window comes first; write @FreqLimit('${second}', ${first})`;
  }
  return typeof first === 'string' ? problemAfter(first, given) : undefined;
}

/** Whether an object is meant as a window of the calendar, and not as a rule. */
function isCalendarArgument(first: object, second: unknown): boolean {
  const isLimit = typeof second === 'number' || typeof second === 'function';
  return looksLikeCalendarWindow(first) || (isLimit && !looksLikeRule(first));
}

/** Problems of what is next to a calendar and after it. Those of the calendar itself are found when the rule is planned. */
function problemAfterCalendar(calendar: object, given: readonly unknown[]): string | undefined {
  const [, second, key] = given;
  const window = calendarText(calendar);
  if (looksLikeRule(calendar))
    return `the calendar belongs in the window; write @FreqLimit({ window: ${window}, limit: 5 })`;
  if (isOnlyFirst(given)) return `the limit is missing; write @FreqLimit(${window}, 5)`;
  return [second, key].some((one) => isObject(one) && !Array.isArray(one)) || given.length > 3
    ? `for options next to the window, write one object: @FreqLimit({ window: ${window}, limit: 5, … })`
    : undefined;
}

/** Problems of a window or a name, and of what follows it. */
function problemAfter(first: string, given: readonly unknown[]): string | undefined {
  const [, second, key] = given;
  if (looksLikeWindow(first)) {
    if (isOnlyFirst(given)) return `the limit is missing; write @FreqLimit('${first}', 5)`;
    return isObject(second) && !Array.isArray(second)
      ? `for options next to the window, write one object: @FreqLimit({ window: '${first}', limit: 5, … })`
      : undefined;
  }
  const isName = RULE_NAME.test(first);
  if (isChanges(second) && key === undefined) {
    const text = formatForLog(first);
    return isName
      ? undefined
      : `${text} is neither a window nor the name of a rule; write @FreqLimit('1m', 5)`;
  }
  return isName && !/^\d/.test(first) ? problemOfName(first, given) : undefined;
}

/** A name in place of the window. */
function problemOfName(name: string, given: readonly unknown[]): string {
  const limit = given.find((one): one is number => typeof one === 'number') ?? 5;
  if (isCalendarUnit(name))
    return `"${name}" is not a window; write @FreqLimit(${calendarText({ calendar: name })}, ${limit})`;
  const window = given.find((one): one is string => typeof one === 'string' && looksLikeWindow(one)) ?? '1m';
  return (
    `"${name}" is not a window; for a rule with this name, write @FreqLimit({ name: '${name}', window: '${window}', ` +
    `limit: ${limit} }); to change the rule of namedRules, write @FreqLimit('${name}', { limit: ${limit} })`
  );
}

function isOnlyFirst([, ...others]: readonly unknown[]): boolean {
  return others.every((one) => one === undefined);
}

/** Whether the second argument is not a limit. */
function isChanges(second: unknown): second is object | undefined {
  return second === undefined || (isObject(second) && !Array.isArray(second));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The value is checked when the rule is planned. */
function asRule(value: unknown): AnyRule {
  return value as AnyRule;
}
