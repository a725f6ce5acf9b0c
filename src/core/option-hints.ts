import { nearestName } from './nearest-name.js';

/**
 * What to write instead of names that are not options, such as those of other libraries: the right name, or a function of the
 * value that returns the whole advice.
 */
export type OptionHints = Readonly<Record<string, string | ((value: unknown) => string)>>;

/** Completes "is not an option": what to write instead; `undefined` if that is not known. */
export function hintFor(
  name: string,
  value: unknown,
  known: readonly string[],
  hints: OptionHints,
): string | undefined {
  const hint = Object.hasOwn(hints, name) ? hints[name] : nearestName(name, known);
  if (hint === undefined) return undefined;
  return `; ${typeof hint === 'function' ? hint(value) : `did you mean ${hint}?`}`;
}
