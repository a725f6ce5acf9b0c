import { BoundedMap } from '../core/bounded-map.js';
import type { Calendar } from '../core/calendar/calendar.js';
import { type ZonedCalendar, zonedCalendar } from '../core/calendar/zoned-calendar.js';
import { keyPrefix, windowPart } from '../core/counter-key.js';
import {
  CONCURRENCY,
  type CounterKind,
  FIXED_WINDOW,
  type SlidingWindow,
  type TokenBucket,
} from '../core/counter-kind.js';
import type { CounterType, PlannedRule } from './planned-rule.js';
import { type KindName, unitsOfBucket } from './rule-kind.js';

const SLIDING_WINDOW: SlidingWindow = { type: 'sliding-window' };
/** In milliseconds since 1970. Looked up at each call, so that it follows a test's fake timers. */
const timeOfDay = (): number => Date.now();
/** A function may return any time zone. There are some 600 names. */
const MAX_ZONES = 1_000;

type KeyPrefixFor = PlannedRule['keyPrefixFor'];
type CounterFor = PlannedRule['counterFor'];

/** Makes the prefixes of the keys of a rule's counters. That of a constant window is made once. */
export function keyPrefixes(
  namespace: string,
  id: string,
  { window, kindName }: Pick<PlannedRule, 'window' | 'kindName'>,
): KeyPrefixFor {
  const prefixFor = (span: number | string): string =>
    keyPrefix(namespace, id, spanPart(span, window, kindName));
  const constant = spanOf(window);
  if (typeof constant === 'function') return prefixFor;
  const prefix = prefixFor(constant);
  return () => prefix;
}

/** The part of a key that says how a counter counts, for a window in milliseconds or the time zone of a calendar. */
function spanPart(span: number | string, window: PlannedRule['window'], kindName: KindName): string {
  if (typeof window === 'object') return zonedCalendar(window.calendar, span).id;
  return windowPart(kindName as Exclude<KindName, 'calendar'>, span);
}

/** How the id of a rule without a name shows its window: as a key does, with `ƒ` for what a function returns. */
export function windowInId({ window, kindName }: Pick<PlannedRule, 'window' | 'kindName'>): string {
  const span = spanOf(window);
  if (typeof span !== 'function') return spanPart(span, window, kindName);
  return typeof window === 'object' ? `${window.calendar.id}@ƒ` : spanPart('ƒ', window, kindName);
}

/** The length of a window in milliseconds, the time zone of a calendar, or the function that returns it. */
export function spanOf(window: PlannedRule['window']): PlannedRule['span'] {
  return typeof window === 'object' ? window.timeZone : window;
}

type CountersOptions = Pick<PlannedRule, 'window' | 'kindName' | 'limit' | 'burst' | 'keyPrefixFor'>;

/** What the counters of a rule have in common, for each request: the same object, as far as that is possible. */
export function countersOf(rule: CountersOptions): CounterFor {
  const { window, kindName, keyPrefixFor } = rule;
  if (typeof window === 'object') return calendarCounters(window.calendar, keyPrefixFor);
  const counterFor: CounterFor = (span, units) => {
    const windowMs = span as number;
    return { group: keyPrefixFor(windowMs), windowMs, kind: lengthKind(kindName, units) };
  };
  if (typeof window === 'function') return counterFor;
  const usual = usualUnits(rule);
  const constant = counterFor(window, usual);
  if (kindName !== 'token-bucket') return () => constant;
  return (span, units) => (units === usual ? constant : counterFor(span, units));
}

/** The units of a full bucket, if no function returns them. */
function usualUnits({ limit, burst }: CountersOptions): number {
  const isConstant = typeof limit === 'number' && typeof burst !== 'function';
  return isConstant ? unitsOfBucket(limit, burst) : NaN;
}

/** @param units of a full bucket; of no meaning for other kinds */
export function lengthKind(kindName: KindName, units: number): CounterKind {
  if (kindName === 'token-bucket') return tokenBucket(units);
  if (kindName === 'concurrency') return CONCURRENCY;
  return kindName === 'sliding-window' ? SLIDING_WINDOW : FIXED_WINDOW;
}

/** @param burst the units of a full bucket */
export function tokenBucket(burst: number): TokenBucket {
  return { type: 'token-bucket', burst };
}

/** The calendar of a time zone, and what its counters have in common until the current period ends. */
interface CurrentPeriod {
  readonly calendar: ZonedCalendar;
  readonly type: CounterType;
}

/** What the counters of a calendar have in common: the same object for each time zone, until the current period ends. */
export function calendarCounters(calendar: Calendar, keyPrefixFor: KeyPrefixFor): CounterFor {
  const current = new BoundedMap<string, CurrentPeriod>(MAX_ZONES);
  return (span) => {
    const timeZone = span as string;
    const known = current.get(timeZone);
    const zoned = known?.calendar ?? zonedCalendar(calendar, timeZone);
    const kind = zoned.periodAt(timeOfDay());
    if (known?.type.kind === kind) return known.type;
    const type = { group: keyPrefixFor(timeZone), windowMs: kind.endsAtMs - kind.startsAtMs, kind };
    return current.add(timeZone, { calendar: zoned, type }).type;
  };
}
