import type { LogCode } from '../core/log-codes.js';

/** A warning for the log. */
export interface Warning {
  readonly code: LogCode;
  /** The problem, its place, and what to do. */
  readonly message: string;
}

const MAX_NAMES = 8;

/** Names of handlers, joined; at most eight, so that a log line stays readable. */
export function joinNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** A warning about something that is declared at one place. */
export interface PlacedAdvice {
  readonly code: LogCode;
  readonly place: string;
  /** The problem, and what to do. */
  readonly advice: string;
}

/** One warning for all places with the same advice: a constant or a default may be used at many. */
export function onePerAdvice(found: readonly PlacedAdvice[]): Warning[] {
  const places = new Map<string, { readonly code: LogCode; readonly names: Set<string> }>();
  for (const { code, place, advice } of found) {
    const known = places.get(advice) ?? { code, names: new Set() };
    known.names.add(place);
    places.set(advice, known);
  }
  return [...places].map(([advice, { code, names }]) => ({
    code,
    message: `${joinNames([...names])}: ${advice}`,
  }));
}
