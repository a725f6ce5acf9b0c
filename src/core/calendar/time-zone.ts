import { BoundedMap } from '../bounded-map.js';
import { formatForLog } from '../errors.js';
import type { Validator } from '../validate.js';

/** Bounded, because a function may return what a client sends, and Intl needs milliseconds for a long text. */
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
/** Node.js knows these, but IANA does not, and several places share most of them: `BST` would be Bangladesh. */
const ABBREVIATION =
  /^(?:ACT|AET|AGT|ART|AST|BET|BST|CAT|CNT|CST|CTT|EAT|ECT|IET|IST|JST|MIT|NET|NST|PLT|PNT|PRT|PST|SST|VST)$/i;
const OFFSET = /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/;

/** A formatter takes some 30 KB, and is needed only when a period has ended. */
const formatters = new BoundedMap<string, Intl.DateTimeFormat>(100);

/** Offsets such as `+02:00` are not time zones, because older versions of Node.js do not know them. */
export const TIME_ZONE: Validator<string> = {
  test: isTimeZone,
  expected: "a time zone of the IANA database, such as 'Europe/Berlin' or 'UTC'",
};

function isTimeZone(value: unknown): value is string {
  if (typeof value !== 'string' || !NAME.test(value) || ABBREVIATION.test(value)) return false;
  try {
    formatterFor(value);
    return true;
  } catch {
    return false;
  }
}

/** By how many milliseconds the clocks of a time zone are ahead of UTC, at a time in milliseconds since 1970. */
export function offsetAt(timeZone: string, timeMs: number): number {
  const text = formatterFor(timeZone).format(timeMs);
  const match = OFFSET.exec(text);
  if (match === null)
    throw new Error(`Intl.DateTimeFormat returned ${formatForLog(text)}, without an offset`);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -offset : offset;
}

/** The first millisecond after `fromMs` with another offset. The offset of `toMs` must be another one. */
export function offsetChange(timeZone: string, fromMs: number, toMs: number): number {
  const before = offsetAt(timeZone, fromMs);
  let [last, first] = [fromMs, toMs];
  while (first - last > 1) {
    const middle = Math.floor((last + first) / 2);
    if (offsetAt(timeZone, middle) === before) last = middle;
    else first = middle;
  }
  return first;
}

function formatterFor(timeZone: string): Intl.DateTimeFormat {
  return (
    formatters.get(timeZone) ??
    formatters.add(
      timeZone,
      // the year is there because a format without any field of the date has all of them
      new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', timeZoneName: 'longOffset' }),
    )
  );
}
