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
