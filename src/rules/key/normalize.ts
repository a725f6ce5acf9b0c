import { oneLine, formatForLog } from '../../core/errors.js';
import { isPromise } from '../../core/maybe-promise.js';
import type { NormalizedValues, LimitedRequest } from '../../core/request.js';
import { scalarText } from './key-text.js';
import type { CompiledKey, Normalize } from './key-types.js';
import { email, phone } from './spellings.js';

/** One `normalize`, ready to use. */
export interface Normalizer {
  /** The declaration. Keys with different ones count by different things. */
  readonly spec: Normalize;
  /**
   * Returns the normalized text; `''` if nothing is left of it.
   * @param request remembers the result of a function, for the other rules of the request
   * @throws {TooLongError}
   * @throws {NormalizeError}
   */
  readonly normalize: (text: string, request?: LimitedRequest) => string;
}

/** The `normalize` of a rule: which value of its key gets which normalizer. */
export interface Normalization {
  /** For a placeholder, by its path. Never for `ip`: addresses have their own form. */
  readonly ofPath: (path: string) => Normalizer | undefined;
  /** For the values that a key function returns. */
  readonly ofFunction: Normalizer | undefined;
  /** The paths that the declaration names; `undefined` if it applies to all. */
  readonly paths: readonly string[] | undefined;
}

/** A function of `normalize` threw, or did not return a string. The message contains nothing of the value. */
export class NormalizeError extends Error {}

export const NO_NORMALIZATION: Normalization = {
  ofPath: () => undefined,
  ofFunction: undefined,
  paths: [],
};

const SPELLINGS = { email, phone };
const EXPECTED =
  "'email', 'phone', a function from string to string, or an object of these by placeholder, such as { 'body.email': 'email' }";

/**
 * Checks and parses the `normalize` of a rule.
 * @throws {TypeError} if it is wrong; the message says how to write one
 */
export function compileNormalize(spec: unknown): Normalization {
  if (spec === undefined) return NO_NORMALIZATION;
  if (typeof spec !== 'object' || spec === null) {
    const normalizer = compileOne(spec);
    return {
      ofPath: (path) => (path === 'ip' ? undefined : normalizer),
      ofFunction: normalizer,
      paths: undefined,
    };
  }
  const entries = Object.entries(spec).filter(([, one]) => one !== undefined);
  if (Array.isArray(spec) || entries.length === 0)
    throw new TypeError(`${formatForLog(spec)} is not ${EXPECTED}`);
  const byPath = new Map(entries.map(([path, one]) => [path, compileOne(one)]));
  return { ofPath: (path) => byPath.get(path), ofFunction: undefined, paths: [...byPath.keys()] };
}

/**
 * Checks that a `normalize` has an effect on its key.
 * @throws {TypeError}
 */
export function rejectUnused({ paths, ofFunction }: Normalization, key: CompiledKey): void {
  const known = key.paths.filter((path) => path !== 'ip');
  const unknown = paths?.find((path) => !known.includes(path));
  if (unknown !== undefined) {
    const names = known.map((path) => `'${path}'`).join(', ') || 'none';
    const hint = key.isDynamic ? '; for the values of a key function give one normalizer, not an object' : '';
    throw new TypeError(
      `the key ${formatForLog(key.spec)} has no value ${formatForLog(unknown)} to normalize; values to normalize: ${names}${hint}`,
    );
  }
  if (ofFunction !== undefined && known.length === 0 && !key.isDynamic) {
    throw new TypeError(`the key ${formatForLog(key.spec)} has no value to normalize; remove normalize`);
  }
}

/** Normalizes a string or number. Any other value is a missing one, and stays as it is. */
export function normalizeValue(
  value: unknown,
  normalizer: Normalizer | undefined,
  request?: LimitedRequest,
): unknown {
  if (normalizer === undefined) return value;
  const text = scalarText(value);
  return text === undefined ? value : normalizer.normalize(text, request);
}

function compileOne(spec: unknown): Normalizer {
  if (spec === 'email' || spec === 'phone') return { spec, normalize: SPELLINGS[spec] };
  if (typeof spec === 'function') {
    const run = spec as (value: string) => string;
    return {
      spec: run,
      normalize: (text, request) =>
        request === undefined ? callFunction(run, text) : callOnce(run, text, request),
    };
  }
  throw new TypeError(`${formatForLog(spec)} is not ${EXPECTED}`);
}

/** Calls the function once for a value that several rules of a request use. */
function callOnce(run: (value: string) => unknown, text: string, request: LimitedRequest): string {
  const values: NormalizedValues = (request.normalized ??= new Map<unknown, never>());
  const known = values.get(run);
  if (known?.text === text) return known.answer;
  const answer = callFunction(run, text);
  values.set(run, { text, answer });
  return answer;
}

/** Values are personal data, so an error names only the kind of what was thrown or returned. */
function callFunction(run: (value: string) => unknown, text: string): string {
  let result: unknown;
  try {
    result = run(text);
  } catch (error) {
    // its message may contain the value
    throw new NormalizeError(`it threw ${typeOfThrown(error)}`);
  }
  if (typeof result === 'string') return result;
  // not awaited, and its rejection must not end the process
  if (isPromise(result)) void Promise.resolve(result).then(undefined, () => undefined);
  throw new NormalizeError(`it returned ${isPromise(result) ? 'a promise' : typeof result}, not a string`);
}

function typeOfThrown(error: unknown): string {
  return error instanceof Error ? oneLine(error.name) : typeof error;
}
