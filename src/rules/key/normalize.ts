import { oneLine, formatForLog } from '../../core/errors.js';
import { isPromise } from '../../core/maybe-promise.js';
import type { NormalizedValues, LimitedRequest } from '../../core/request.js';
import { email, phone } from './spellings.js';
import type { Normalize } from './key-types.js';

/** The one spelling of a value. */
export interface Normalizer {
  /** What was declared; two that differ in it count by different things. */
  readonly spec: Normalize;
  /**
   * The normalized text; `''` if nothing is left.
   * @throws {TooLongError}
   */
  readonly normalize: (text: string, visit?: LimitedRequest) => string;
}

/** What a rule's `normalize` says of the values of its key. */
export interface Normalization {
  /** For a placeholder, by its path; addresses have one spelling anyway. */
  readonly ofPath: (path: string) => Normalizer | undefined;
  /** For what a key function answers. */
  readonly ofFunction: Normalizer | undefined;
  /** The paths of placeholders that were named; `undefined` where all are meant. */
  readonly paths: readonly string[] | undefined;
}

/** A function of `normalize` threw, or answered what is no text. */
export class NormalizeError extends Error {}

export const NOTHING: Normalization = { ofPath: () => undefined, ofFunction: undefined, paths: [] };

const SPELLINGS = { email, phone };
const FORM =
  "'email', 'phone', a function from text to text, or an object of these by placeholder, such as { 'body.email': 'email' }";

/**
 * Compiles what a rule's `normalize` declares.
 * @throws {TypeError} when it is none; the message says what is wrong and the right form
 */
export function compileNormalize(spec: unknown): Normalization {
  if (spec === undefined) return NOTHING;
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
    throw new TypeError(`${formatForLog(spec)} is not ${FORM}`);
  const byPath = new Map(entries.map(([path, one]) => [path, compileOne(one)]));
  return { ofPath: (path) => byPath.get(path), ofFunction: undefined, paths: [...byPath.keys()] };
}

/**
 * Refuses what would do nothing.
 * @throws {TypeError}
 */
export function refuseUnused(
  { paths, ofFunction }: Normalization,
  key: { readonly spec: string; readonly isDynamic: boolean; readonly paths: readonly string[] },
): void {
  const known = key.paths.filter((path) => path !== 'ip');
  const stray = paths?.find((path) => !known.includes(path));
  if (stray !== undefined) {
    const names = known.map((path) => `'${path}'`).join(', ') || 'none';
    const hint = key.isDynamic ? '; for the values of a key function give one for all' : '';
    throw new TypeError(
      `${formatForLog(stray)} is no placeholder of the key ${formatForLog(key.spec)} that may be spelt otherwise; these are ${names}${hint}`,
    );
  }
  if (ofFunction !== undefined && known.length === 0 && !key.isDynamic) {
    throw new TypeError(
      `the key ${formatForLog(key.spec)} has no value that could be spelt otherwise; leave it out`,
    );
  }
}

function compileOne(spec: unknown): Normalizer {
  if (spec === 'email' || spec === 'phone') return { spec, normalize: SPELLINGS[spec] };
  if (typeof spec === 'function') {
    const ask = spec as (value: string) => string;
    return {
      spec: ask,
      normalize: (text, visit) => (visit === undefined ? answerOf(ask, text) : onceOf(ask, text, visit)),
    };
  }
  throw new TypeError(`${formatForLog(spec)} is not ${FORM}`);
}

/** The result of the function, which is called once for a value that several rules use. */
function onceOf(ask: (value: string) => unknown, text: string, request: LimitedRequest): string {
  const values: NormalizedValues = (request.normalized ??= new Map<unknown, never>());
  const known = values.get(ask);
  if (known?.text === text) return known.answer;
  const answer = answerOf(ask, text);
  values.set(ask, { text, answer });
  return answer;
}

/** The values themselves are nobody's business, so of a wrong answer or an error only its kind is told. */
function answerOf(ask: (value: string) => unknown, text: string): string {
  let answer: unknown;
  try {
    answer = ask(text);
  } catch (error) {
    // what it says may be the value itself
    throw new NormalizeError(`it threw ${kindOf(error)}`);
  }
  if (typeof answer === 'string') return answer;
  // nobody waits for it, and its failure must not end the process
  if (isPromise(answer)) void Promise.resolve(answer).then(undefined, () => undefined);
  throw new NormalizeError(`it answered ${isPromise(answer) ? 'a promise' : typeof answer}, not a text`);
}

function kindOf(error: unknown): string {
  return error instanceof Error ? oneLine(error.name) : typeof error;
}
