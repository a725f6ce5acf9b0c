import { nearestName } from './nearest-name.js';

/** The option that was meant, perhaps with a value, such as `window: '1m'`; or advice in other words. */
export type OptionHint = string | { readonly advice: string };

/** Hints for names that are not options, such as those of other libraries. A function gets the value that was given. */
export type OptionHints = Readonly<Record<string, OptionHint | ((value: unknown) => OptionHint)>>;

/** One hint for several names; a function gets the name. */
export function hintsFor(
  names: readonly string[],
  hint: OptionHint | ((name: string) => OptionHint),
): OptionHints {
  return Object.fromEntries(names.map((name) => [name, typeof hint === 'function' ? hint(name) : hint]));
}

/** What to write instead of a name that is not an option. */
export interface Advice {
  readonly text: string;
  /** The name of the option that was meant, if it is known. */
  readonly meant: string | undefined;
}

/** Advice for a name that is not an option; `undefined` if there is no hint and no similar name. */
export function adviceFor(
  name: string,
  options: object,
  known: Iterable<string>,
  hints: OptionHints,
): Advice | undefined {
  const hint = Object.hasOwn(hints, name) ? hints[name] : nearestName(name, known);
  if (hint === undefined) return undefined;
  // the value of a getter is not needed for advice
  const value: unknown = Object.getOwnPropertyDescriptor(options, name)?.value;
  const found = typeof hint === 'function' ? hint(value) : hint;
  return typeof found === 'string'
    ? { text: `did you mean ${found}?`, meant: /^\w+/.exec(found)?.[0] }
    : { text: found.advice, meant: undefined };
}
