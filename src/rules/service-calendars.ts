import { BoundedMap } from '../core/bounded-map.js';
import { zonedCalendar } from '../core/calendar/zoned-calendar.js';
import { keyPrefix } from '../core/counter-key.js';
import type { OptionReader } from '../core/validate.js';
import { readCalendarWindow } from './calendar/read-calendar-window.js';
import type { CounterType } from './planned-rule.js';
import { calendarCounters } from './rule-counters.js';
import { serviceId } from './service-groups.js';

type CurrentCounter = () => CounterType;

/** Bounds the memory, if an application makes up names or windows. */
const MAX_GROUPS = 1_000;

/** The groups of the counters of `FreqLimitService` with a calendar, by the name and the window as they were written. */
export class ServiceCalendars {
  private readonly known = new BoundedMap<string, CurrentCounter>(MAX_GROUPS);

  constructor(private readonly namespace: string) {}

  /** What the counters of a valid name have in common now, if the window was used before. */
  find(name: unknown, window: object): CounterType | undefined {
    const text = textOf(name, window);
    return text === undefined ? undefined : this.known.get(text)?.();
  }

  /** Does the same for a new window. */
  add(name: string | undefined, window: object, reader: OptionReader): CounterType {
    const current = this.currentCounter(name, window, reader);
    const text = textOf(name, window);
    if (text !== undefined) this.known.add(text, current);
    return current();
  }

  private currentCounter(name: string | undefined, window: object, reader: OptionReader): CurrentCounter {
    const { calendar, timeZone } = reader.parsed('window', () => readCalendarWindow(window));
    if (typeof timeZone === 'function') {
      throw reader.invalid(
        'window',
        'timeZone: a function is not possible here, where no request is; write the name',
      );
    }
    const { id } = zonedCalendar(calendar, timeZone);
    const prefix = keyPrefix(this.namespace, serviceId(name), id);
    const counterFor = calendarCounters(calendar, () => prefix);
    return () => counterFor(timeZone, 0);
  }
}

/** Distinguishes names and windows; `undefined` for a window with odd values, which is then read each time. */
function textOf(name: unknown, window: object): string | undefined {
  const { calendar, timeZone, startsAt } = window as Readonly<Record<string, unknown>>;
  const values = [name, calendar, timeZone, startsAt];
  // the names too, because an unknown one is a mistake
  return values.every(isSimple) ? JSON.stringify([...values, ...Object.keys(window)]) : undefined;
}

/** Whether JSON shows a value as it is. */
export function isSimple(value: unknown): boolean {
  return value === undefined || typeof value === 'string' || Number.isFinite(value);
}
