import { formatForLog } from '../../core/errors.js';
import { all, attempt, andThen } from '../../core/maybe-promise.js';
import type { LimitedRequest } from '../../core/request.js';
import { idToScalar } from './ids.js';
import { joinTexts, textOfAll } from './key-text.js';
import type { CompiledKey, FromContext, KeyPart } from './key-types.js';
import { NO_NORMALIZATION, type Normalization, normalizeValue } from './normalize.js';
import { cachedInTurn } from '../turn-cache.js';
import { compileTemplate, EXPECTED_KEY } from './template.js';

/** Most rules of an application have one of a few keys. */
const compilePlain = cachedInTurn((template: string) => compileTemplate(template, NO_NORMALIZATION));

/**
 * Checks and parses a key.
 * @throws {TypeError} if it is not a key; the message says how to write one
 */
export function compileKey(spec: unknown, normalization: Normalization = NO_NORMALIZATION): CompiledKey {
  if (typeof spec === 'string')
    return normalization === NO_NORMALIZATION ? compilePlain(spec) : compileTemplate(spec, normalization);
  if (typeof spec === 'function') return compileFunction(spec as FromContext<unknown>, normalization);
  if (Array.isArray(spec) && spec.length > 0) return compileArray(spec as readonly KeyPart[], normalization);
  throw new TypeError(`${formatForLog(spec)} is not a key; use ${EXPECTED_KEY}`);
}

function compileFunction(key: FromContext<unknown>, { ofFunction }: Normalization): CompiledKey {
  const toText = (values: readonly unknown[], request?: LimitedRequest): string | undefined =>
    textOfAll(values.map((value) => normalizeValue(idToScalar(value), ofFunction, request)));
  return {
    spec: 'ƒ',
    sources: [key],
    isDynamic: true,
    paths: [],
    readers: [],
    normalizers: [ofFunction?.spec],
    read: (request, context) =>
      andThen(key(context), (value) => toText(Array.isArray(value) ? value : [value], request)),
    textFromValues: (values) => toText(values),
  };
}

function compileArray(parts: readonly KeyPart[], normalization: Normalization): CompiledKey {
  const keys = parts.map((part) => {
    if (Array.isArray(part)) throw new TypeError(`a list must not contain another list; use ${EXPECTED_KEY}`);
    return compileKey(part, normalization);
  });
  return {
    spec: JSON.stringify(keys.map(({ spec }) => spec)),
    sources: keys.flatMap(({ sources }) => sources),
    isDynamic: keys.some(({ isDynamic }) => isDynamic),
    paths: keys.flatMap(({ paths }) => paths),
    readers: keys.flatMap(({ readers }) => readers),
    normalizers: keys.flatMap(({ normalizers }) => normalizers),
    read: readerOf(keys),
    textFromValues: (values, canonical) => joinTexts(textsFromValues(keys, values, canonical)),
  };
}

function readerOf(keys: readonly CompiledKey[]): CompiledKey['read'] {
  if (!keys.some(callsFunction)) {
    return (request, context) =>
      joinTexts(keys.map((key) => key.read(request, context) as string | undefined));
  }
  return (request, context) =>
    all<(string | undefined)[], string | undefined>(
      keys.map((key) => attempt(() => key.read(request, context))),
      joinTexts,
    );
}

/** Whether the key calls a function, which may return a promise, or fail while other keys are read. */
function callsFunction({ isDynamic, normalizers }: CompiledKey): boolean {
  return isDynamic || normalizers.some((spec) => typeof spec === 'function');
}

/** Gives each template as many values as it has placeholders, and each function one. */
function textsFromValues(
  keys: readonly CompiledKey[],
  values: readonly unknown[],
  canonical: (address: string) => string,
): (string | undefined)[] {
  let next = 0;
  const texts = keys.map((key) => {
    const count = key.isDynamic ? 1 : key.paths.length;
    const own = values.slice(next, (next += count));
    return key.textFromValues(
      own.flatMap((value: unknown) => value),
      canonical,
    );
  });
  if (next !== values.length) throw new TypeError(`the key takes ${next} values, got ${values.length}`);
  return texts;
}
