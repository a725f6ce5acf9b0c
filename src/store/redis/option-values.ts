import { formatError } from '../../core/errors.js';
import { wholeNumber } from '../../core/validate.js';
import { isUrl } from './check-redis-url.js';

/** Options by name, before they are checked. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** The values of known options, including inherited ones and getters. Each is read once. */
export function valuesIn(given: object, known: ReadonlySet<string>): OptionValues {
  const values: Record<string, unknown> = {};
  for (const name of known) {
    const value = readValue(given as OptionValues, name);
    // undefined must not override the limiter's own default
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** A getter of the user may throw. */
function readValue(given: OptionValues, name: string): unknown {
  try {
    return given[name];
  } catch (error) {
    throw new TypeError(`${name}: cannot be read: ${formatError(error)}`, { cause: error });
  }
}

/** Where options were found. */
interface Place {
  /** Printed before the name of an option. */
  readonly prefix?: string;
  /** Whether names that are not similar to any option are accepted. */
  readonly isLenient?: boolean;
}

/** Throws an error for each unknown option name. An instance of a class may have other properties, unless one looks like a typing error. */
export function rejectUnknown(
  given: object,
  known: ReadonlySet<string>,
  hintFor: (name: string) => string | undefined,
  { prefix = '', isLenient = false }: Place = {},
): void {
  const isPlain = [null, Object.prototype].includes(Object.getPrototypeOf(given) as object | null);
  const errors: TypeError[] = [];
  for (const name of propertiesOf(given)) {
    if (known.has(name)) continue;
    const hint = hintFor(name);
    if (hint !== undefined) errors.push(new TypeError(`${prefix}${name}: is not an option here; ${hint}`));
    else if (isPlain && !isLenient)
      errors.push(
        new TypeError(
          `${prefix}${name}: is not an option of ioredis 5.3 to 6.0; to use an option of a later version, pass a client`,
        ),
      );
  }
  throwAll(errors);
}

/** Runs all checks, and throws their errors together. */
export function runAll(...checks: readonly (() => void)[]): void {
  const errors: unknown[] = [];
  for (const check of checks) {
    try {
      check();
    } catch (error) {
      errors.push(...(error instanceof AggregateError ? (error.errors as unknown[]) : [error]));
    }
  }
  throwAll(errors);
}

/** Throws an error as it is, and several as one. */
export function throwAll(errors: readonly unknown[]): void {
  if (errors.length > 1) throw new AggregateError(errors);
  if (errors.length === 1) throw errors[0];
}

/** The names of an object's own properties and of the getters of its classes. */
function propertiesOf(given: object): string[] {
  const names = Object.keys(given);
  let level = Object.getPrototypeOf(given) as object | null;
  while (level !== null && level !== Object.prototype) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (property.get !== undefined || typeof property.value !== 'function') names.push(name);
    level = Object.getPrototypeOf(level) as object | null;
  }
  return names;
}

/** Whether an option is set. ioredis uses `null` for some options that are not set. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isPort(port: unknown): boolean {
  return wholeNumber(1, 65_535).test(port);
}

/** Whether a value says where a node of a Cluster, or a sentinel, is. */
export function isNode(node: unknown): boolean {
  if (typeof node === 'string') return isUrl(node);
  if (typeof node === 'number') return isPort(node);
  const { host, port } = Object(node) as { readonly host?: unknown; readonly port?: unknown };
  return (host !== undefined || port !== undefined) && isNonEmptyString(host ?? '-') && isPort(port ?? 6379);
}
