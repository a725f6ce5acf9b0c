import { zonedCalendar } from '../core/calendar/zoned-calendar.js';
import type { Check } from '../core/check.js';
import type { Block, CounterKind } from '../core/counter-kind.js';
import type { PlannedRule } from './planned-rule.js';
import { windowName } from './window.js';

const AT_ONCE = 'at once';

// how the debug log describes windows, algorithms and blocks

/** Completes "5 …": `per 1m`, `per month, UTC`, `at once`. */
export function windowText({ window, kindName }: PlannedRule): string {
  if (kindName === 'concurrency') return AT_ONCE;
  if (typeof window === 'number') return `per ${windowName(window)}`;
  if (typeof window === 'function') return 'per a function';
  const { calendar, timeZone } = window;
  return typeof timeZone === 'string'
    ? zonedCalendar(calendar, timeZone).text
    : `${calendar.text}, a function`;
}

/** The algorithm, the burst and the block of a rule, as far as it has them. */
export function kindTexts({ kindName, burst, block, holdFor }: PlannedRule): string[] {
  return [
    ...(kindName === 'sliding-window' || kindName === 'token-bucket' ? [kindName] : []),
    ...(holdFor === 'connection' ? ['held for the connection'] : []),
    ...(burst === undefined ? [] : [`burst ${valueText(burst)}`]),
    ...(block === undefined ? [] : [blockText(block)]),
  ];
}

function blockText({ stepsMs, forgiveAfterMs }: Block): string {
  const forgiven = stepsMs.length === 1 ? '' : `, forgiven after ${windowName(forgiveAfterMs)}`;
  return `blocked for ${stepsMs.map(windowName).join(', then ')}${forgiven}`;
}

/** A constant, or that it is a function. */
export function valueText(value: unknown): string {
  return typeof value === 'function' ? 'a function' : String(value);
}

/** Completes "limit 5 …", for a check: `per 1m, sliding-window`, `at once`. */
export function spanText({ kind, windowMs }: Pick<Check, 'kind' | 'windowMs'>): string {
  return kind.type === 'concurrency' ? AT_ONCE : `per ${windowName(windowMs)}${kindText(kind)}`;
}

/** What the length of the window does not say. */
export function kindText(kind: CounterKind): string {
  switch (kind.type) {
    case 'fixed-window':
    case 'concurrency':
      return '';
    case 'calendar':
      return ` until ${new Date(kind.endsAtMs).toISOString()}`;
    case 'sliding-window':
      return `, ${kind.type}`;
    case 'token-bucket':
      return `, ${kind.type}, burst ${kind.burst}`;
  }
}
