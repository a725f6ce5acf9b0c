import { FreqLimitError, formatError } from './errors.js';
import { Mistakes } from './mistakes.js';
import { adviceFor, type OptionHints } from './option-hints.js';
import type { OptionReader, Validator } from './validate.js';

/** How an option is checked, and its value if it is not given. An option without a default is required. */
export type OptionEntry = (
  | { readonly validator: Validator<unknown> }
  // a parser converts the value; for a wrong one it throws an error that says why, an AggregateError of several, or an error
  // of the reader
  | { readonly parse: (value: unknown, reader: OptionReader) => unknown }
) &
  ({ readonly default: unknown } | { readonly isRequired: true }) & {
    /** Whether the option belongs elsewhere: its parser says where, and messages do not list it. */
    readonly isElsewhere?: true;
  };

/** An entry for each option of an interface. A table that forgets one does not compile. */
export type EntriesFor<Options> = { readonly [Name in keyof Options]-?: OptionEntry };

/** The values that a table reads. */
export type OptionValues<Entries> = { readonly [Name in keyof Entries]: ValueOf<Entries[Name]> };

type ValueOf<Entry> =
  | (Entry extends { readonly validator: Validator<infer T> } ? T : never)
  | (Entry extends { readonly parse: (...args: never[]) => infer T } ? T : never)
  | (Entry extends { readonly default: infer T } ? T : never);

/** The errors of wrong options, by the option's name; by `''` if something else is given than an object. */
export type OptionErrors = ReadonlyMap<string, FreqLimitError>;

/** What a table has read. */
interface OptionsRead<Entries> {
  /** A wrong option has its default, and a wrong one that is required is `undefined`. */
  readonly values: OptionValues<Entries>;
  readonly errors: Map<string, FreqLimitError>;
}

/** The options of an object that a user writes: their names, checks and defaults. */
export class OptionTable<const Entries extends Readonly<Record<string, OptionEntry>>> {
  /** As messages list them. */
  readonly names: readonly string[];
  private readonly entries: ReadonlyMap<string, OptionEntry>;

  /** @param hints for names that are not options: what to write instead */
  constructor(
    entries: Entries,
    private readonly hints: OptionHints = {},
  ) {
    this.entries = new Map(Object.entries(entries));
    this.names = Object.keys(entries).filter((name) => entries[name]?.isElsewhere !== true);
  }

  /**
   * Checks an object and fills in the defaults.
   * @throws {FreqLimitError} an error of `reader` with a line for each wrong option
   */
  read(given: unknown, reader: OptionReader<FreqLimitError>): OptionValues<Entries> {
    const { values, errors } = this.readAll(given, reader);
    return new Mistakes(errors.values()).orThrow(values);
  }

  /** Does the same, and returns the errors of wrong options. */
  readAll(given: unknown, reader: OptionReader<FreqLimitError>): OptionsRead<Entries> {
    const errors = new Map<string, FreqLimitError>();
    const options = keep(errors, '', () => reader.anyObject(given, this.names));
    if (options !== undefined) this.findUnknown(options, reader, errors);
    const values: Record<string, unknown> = {};
    for (const [name, entry] of this.entries) {
      const isRead = options !== undefined && !errors.has(name);
      const value = isRead && keep(errors, name, () => readOption(name, options, entry, reader));
      values[name] = isRead && !errors.has(name) ? value : defaultOf(entry);
    }
    return { values: values as OptionValues<Entries>, errors };
  }

  private findUnknown(
    options: Readonly<Record<string, unknown>>,
    reader: OptionReader<FreqLimitError>,
    errors: Map<string, FreqLimitError>,
  ): void {
    for (const option of Object.keys(options)) {
      if (this.entries.has(option)) continue;
      const advice = adviceFor(option, options, this.names, this.hints);
      const error = reader.unknown(option, this.names, advice);
      errors.set(option, error);
      // the option that was meant is not reported as missing too
      const meant = advice?.meant;
      if (meant !== undefined && options[meant] === undefined) errors.set(meant, error);
    }
  }
}

/** Runs a step, and keeps its `FreqLimitError`. Any other error is thrown. */
function keep<T>(errors: Map<string, FreqLimitError>, name: string, step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof FreqLimitError)) throw error;
    errors.set(name, error);
    return undefined;
  }
}

function readOption(
  name: string,
  options: Readonly<Record<string, unknown>>,
  entry: OptionEntry,
  reader: OptionReader<FreqLimitError>,
): unknown {
  const value = valueOf(name, options, reader);
  if (value === undefined && 'default' in entry) return entry.default;
  if ('validator' in entry) return reader.required(name, value, entry.validator);
  try {
    return entry.parse(value, reader);
  } catch (error) {
    if (error instanceof FreqLimitError) throw error;
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    return new Mistakes(errors.map((one) => reader.failed(name, one))).orThrow<unknown>(undefined);
  }
}

/** A getter of the user may throw. */
function valueOf(name: string, options: Readonly<Record<string, unknown>>, reader: OptionReader): unknown {
  try {
    return options[name];
  } catch (error) {
    throw reader.invalid(name, `cannot be read: ${formatError(error)}`, error);
  }
}

function defaultOf(entry: OptionEntry): unknown {
  return 'default' in entry ? entry.default : undefined;
}
