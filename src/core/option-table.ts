import { isFreqLimitError } from './errors.js';
import type { OptionHints } from './option-hints.js';
import type { OptionReader, Validator } from './validate.js';

/** How an option is checked, and its value if it is not given. An option without a default is required. */
export type OptionEntry = (
  | { readonly validator: Validator<unknown> }
  // a parser converts the value; for a wrong one it throws an error that says why, or an error of the reader
  | { readonly parse: (value: unknown, reader: OptionReader) => unknown }
) &
  ({ readonly default: unknown } | { readonly isRequired: true });

/** An entry for each option of an interface. A table that forgets one does not compile. */
export type EntriesFor<Options> = { readonly [Name in keyof Options]-?: OptionEntry };

/** The values that a table reads. */
export type OptionValues<Entries> = { readonly [Name in keyof Entries]: ValueOf<Entries[Name]> };

type ValueOf<Entry> =
  | (Entry extends { readonly validator: Validator<infer T> } ? T : never)
  | (Entry extends { readonly parse: (...args: never[]) => infer T } ? T : never)
  | (Entry extends { readonly default: infer T } ? T : never);

/** The options of an object that a user writes: their names, checks and defaults. */
export class OptionTable<const Entries extends Readonly<Record<string, OptionEntry>>> {
  readonly names: readonly string[];
  private readonly entries: readonly (readonly [name: string, OptionEntry])[];

  /** @param hints for names that are not options: what to write instead */
  constructor(
    entries: Entries,
    private readonly hints: OptionHints = {},
  ) {
    this.entries = Object.entries(entries);
    this.names = Object.keys(entries);
  }

  /**
   * Checks an object and fills in the defaults.
   * @throws an error of `reader` for the first wrong option
   */
  read(given: unknown, reader: OptionReader): OptionValues<Entries> {
    const options = reader.object(given, this.names, this.hints);
    const values: Record<string, unknown> = {};
    for (const [name, entry] of this.entries) values[name] = readOption(name, options[name], entry, reader);
    return values as OptionValues<Entries>;
  }
}

function readOption(name: string, value: unknown, entry: OptionEntry, reader: OptionReader): unknown {
  if (value === undefined && 'default' in entry) return entry.default;
  if ('validator' in entry) return reader.required(name, value, entry.validator);
  try {
    return entry.parse(value, reader);
  } catch (error) {
    if (isFreqLimitError(error)) throw error;
    throw reader.invalid(name, error instanceof Error ? error.message : String(error), error);
  }
}
