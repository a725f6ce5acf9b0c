import { shortDuration } from '../core/duration-text.js';
import { nestLog } from '../nest/log.js';
import type { DeclaredRule } from '../rules/planned-rule.js';
import type { FreqLimitRule } from '../rules/rule.js';
import { toWindowMs, windowName } from '../rules/window.js';
import { onePerAdvice, type Warning } from './warning.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400 * SECOND;
const MAX_DAYS = 366;
/** What numbers of seconds that people choose are multiples of, by the length of the window: 2 h 30 min, but not 2 h 46 min 40 s. */
const ROUND = [
  { below: 60 * MINUTE, unit: 10 * MINUTE },
  { below: 180 * MINUTE, unit: 30 * MINUTE },
  { below: DAY, unit: 60 * MINUTE },
  { below: MAX_DAYS * DAY, unit: DAY },
];
/** How many lines the windows of checks may cause, if an application computes them. */
const MAX_LOGGED = 20;
const MILLISECONDS = /^(\d+(?:\.\d+)?)ms$/;

/** Windows and blocks with a unit that was probably not meant: one warning for each length. */
export function questionableWindows(rules: readonly DeclaredRule[]): Warning[] {
  const found = rules.flatMap(({ rule, place }) => {
    // a rule with `concurrency` has none of them
    const { window, blockFor, forgiveAfter } = rule as Partial<FreqLimitRule>;
    return [
      windowAdvice(window),
      ...[blockFor].flat().map((length) => windowAdvice(length, 'blockFor')),
      windowAdvice(forgiveAfter, 'forgiveAfter'),
    ].flatMap((warning) =>
      warning === undefined ? [] : [{ code: warning.code, place, advice: warning.message }],
    );
  });
  return onePerAdvice(found);
}

/**
 * Logs questionable windows of checks of `FreqLimitService`, each once. Without the name of the check: an application may
 * have made it of a user's data.
 */
export function logServiceWindows(): (window: unknown) => void {
  const logged = new Set<string>();
  return (window) => {
    const advice = windowAdvice(window);
    if (advice === undefined || logged.has(advice.message) || logged.size >= MAX_LOGGED) return;
    logged.add(advice.message);
    nestLog.warn(advice.code, `FreqLimitService: check: ${advice.message}`);
  };
}

/**
 * The warning for a window, without its place; `undefined` if the window is plausible or not known.
 * @param option whose value it is
 */
export function windowAdvice(window: unknown, option = 'window'): Warning | undefined {
  if (typeof window === 'number') return ofNumber(window, option);
  const [, digits] = MILLISECONDS.exec(typeof window === 'string' ? window : '') ?? [];
  const amount = Number(digits);
  if (!looksLikeSeconds(amount)) return undefined;
  return { code: 'FREQ_LIMIT_SHORT_WINDOW', message: fewMilliseconds(amount, option) };
}

function ofNumber(window: number, option: string): Warning | undefined {
  const ms = toWindowMs(window);
  if (ms < SECOND) return { code: 'FREQ_LIMIT_SHORT_WINDOW', message: fraction(window, ms, option) };
  if (!looksLikeMilliseconds(window)) return undefined;
  return { code: 'FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS', message: largeNumber(window, option) };
}

/** Whether a number of seconds was probably meant as milliseconds: 16 h 40 min is an odd window, and a year a long one. */
export function looksLikeMilliseconds(seconds: number): boolean {
  const ms = seconds * SECOND;
  const round = ROUND.find(({ below }) => ms < below);
  if (round === undefined) return true;
  return seconds >= 1_000 && seconds % 1_000 === 0 && ms % round.unit !== 0;
}

/** Whether an amount of milliseconds below a second is usual for seconds: 60, 300 or 900, but not 100, 250 or 500. */
function looksLikeSeconds(amount: number): boolean {
  return amount < SECOND && (amount < 100 || amount % 60 === 0);
}

function largeNumber(window: number, option: string): string {
  return (
    `${option}: ${window} is ${shortDuration(window * SECOND)}, because a number is in seconds. If you mean milliseconds, ` +
    `write '${windowName(window)}'. If you mean seconds, write '${window}s'.`
  );
}

/** A number below 1: a number of milliseconds that was divided by 1,000, or a part of a minute. */
function fraction(window: number, ms: number, option: string): string {
  const [meant, form] = looksLikeSeconds(ms)
    ? [`${ms} s`, `${ms}s`]
    : [`${window} minutes`, windowName(Math.round(window * MINUTE))];
  return (
    `${option}: ${window} is ${shortDuration(ms)}, because a number is in seconds. If you mean ${meant}, write '${form}'. If ` +
    `you mean ${shortDuration(ms)}, write '${window}s'.`
  );
}

function fewMilliseconds(amount: number, option: string): string {
  return (
    `${option}: '${amount}ms' is less than a second. If you mean seconds, write '${amount}s'. If you mean ` +
    `milliseconds, write '${amount / SECOND}s'.`
  );
}
