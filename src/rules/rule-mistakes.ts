import { formatForLog, quoted } from '../core/errors.js';
import { calendarText } from './any-window.js';
import { looksLikeCalendarWindow } from './calendar/read-calendar-window.js';
import { windowOfTtl } from './rule-hints.js';
import { looksLikeWindow } from './window.js';
import { isWrongArguments } from './wrong-arguments.js';

type Values = Readonly<Record<string, unknown>>;

const EXAMPLE = "{ window: '1m', limit: 5 }";
/** Options by which a rule is recognized, under the names of several libraries. */
const TELLING = ['window', 'limit', 'ttl', 'windowMs', 'max', 'points', 'duration', 'concurrency'];

/**
 * Recognizes values that are meant as a rule, but written in another way.
 * @returns what is wrong and what to write instead; `undefined` if nothing is recognized
 */
export function mistakeIn(rule: unknown): string | undefined {
  if (isWrongArguments(rule)) return rule.problem;
  if (rule === undefined) {
    return `undefined is not a rule; write each rule as an object such as ${EXAMPLE}. If it is imported, two files may import each other`;
  }
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
    return `${formatForLog(rule)} is not a rule; write each rule as an object such as ${EXAMPLE}`;
  }
  return mistakeInObject(rule as Values);
}

function mistakeInObject(rule: Values): string | undefined {
  // a getter of the user may throw: it is read with the other options, where its error gets a place
  const name: unknown = Object.getOwnPropertyDescriptor(rule, 'name')?.value;
  if (isRulesByName(rule)) {
    return `rules by name are not a rule; write each as a rule with its name: ${rulesText(rule)}`;
  }
  if (typeof name === 'string' && Object.keys(rule).length === 1 && !looksLikeRule(rule)) {
    return `window and limit are missing; for a rule of namedRules write only its name: ${quoted(name)}`;
  }
  return undefined;
}

/** Whether a value is a list of rules, of any library. */
export function isListOfRules(given: unknown): given is readonly Values[] {
  return Array.isArray(given) && given.length > 0 && given.every(looksLikeRule);
}

/** Whether a value is an object of rules by name, as other libraries take them. */
export function isRulesByName(given: unknown): given is Readonly<Record<string, Values>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false;
  const properties = Object.values(Object.getOwnPropertyDescriptors(given));
  return isListOfRules(properties.map(({ value }) => value as unknown));
}

/** Rules of any library, as they are written here. */
export function rulesText(given: readonly Values[] | Readonly<Record<string, Values>>, more = ''): string {
  const rules = Array.isArray(given)
    ? (given as readonly Values[])
    : Object.entries(given).map(([name, rule]) => ({ ...rule, name }));
  return rules.map((rule) => `{ ${ruleText(rule)}${more} }`).join(', ');
}

/** Whether a value is an object with a window or a limit, under the names of any library. */
export function looksLikeRule(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && TELLING.some((name) => name in value);
}

function ruleText({ name, window, ttl, limit, concurrency }: Values): string {
  const length = typeof window === 'string' && looksLikeWindow(window) ? window : windowOfTtl(ttl);
  const written = looksLikeCalendarWindow(window) ? calendarText(window) : `'${length ?? '1m'}'`;
  const named = typeof name === 'string' ? `name: ${quoted(name)}, ` : '';
  if (typeof concurrency === 'number') return `${named}concurrency: ${concurrency}`;
  return `${named}window: ${written}, limit: ${typeof limit === 'number' ? limit : 5}`;
}
