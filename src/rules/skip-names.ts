import { formatForLog, quoted } from '../core/errors.js';

/**
 * Recognizes an argument of `@SkipFreqLimit` that is not a name.
 * @returns what is wrong and what to write instead; `undefined` for a string
 */
export function mistakeInName(name: unknown): string | undefined {
  if (typeof name === 'string') return undefined;
  return `${formatForLog(name)} is not the name of a rule; ${adviceFor(name)}`;
}

function adviceFor(wrong: unknown): string {
  if (wrong === true) return 'to skip all rules, write @SkipFreqLimit()';
  if (wrong === false) return 'to limit a handler again, write @FreqLimit on it';
  if (Array.isArray(wrong)) return "write names without a list: @SkipFreqLimit('burst', 'daily')";
  if (typeof wrong === 'object' && wrong !== null) return adviceForFlags(wrong);
  return "write @SkipFreqLimit() for all rules, or names such as @SkipFreqLimit('daily')";
}

/** Names with `true` or `false`, as the throttler takes them. */
function adviceForFlags(flags: object): string {
  const skipped = Object.entries(flags).filter(([, isSkipped]) => isSkipped !== false);
  if (skipped.length === 0) return 'to limit a handler again, write @FreqLimit on it';
  const names = skipped.map(([name]) => quoted(name)).join(', ');
  return `write names as strings, @SkipFreqLimit(${names}), or @SkipFreqLimit() for all rules`;
}
