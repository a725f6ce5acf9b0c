import type { ExecutionContext } from '@nestjs/common';
import { formatForLog } from '../../core/errors.js';
import { all, attempt, type MaybePromise, andThen } from '../../core/maybe-promise.js';
import { boundText, encodePart, encodeParts, PART_END } from '../../core/counter-key.js';
import type { LimitedRequest } from '../../core/request.js';
import { idOf } from './id-text.js';
import { type Normalization, type Normalizer, NOTHING } from './normalize.js';
import type { KeyPart, Normalize, FromContext } from './key-types.js';

/** Reads from a visit the text to count by; `undefined` where the visit lacks what the key names. */
type KeyReader = (request: LimitedRequest, context: ExecutionContext) => MaybePromise<string | undefined>;

/** A key as it was declared, ready to be read. */
export interface CompiledKey {
  readonly read: KeyReader;
  /** The declaration as a text, functions as `ƒ`: tells an unnamed rule from its neighbours. */
  readonly spec: string;
  /** What was declared: templates and functions. Two keys that differ in it count by different things. */
  readonly sources: readonly (string | FromContext<unknown>)[];
  /** How the value of each placeholder and of each function is spelt; `undefined` where it is left as it is. */
  readonly normalizers: readonly (Normalize | undefined)[];
  /** Whether it asks a function, and so may wait or fail. */
  readonly isDynamic: boolean;
  /** The placeholders' paths, such as `body.phone`, in order. */
  readonly paths: readonly string[];
  /**
   * The same text made from values given by hand instead of a visit's; throws where their number is wrong.
   * `canonical` spells an address as a visit's is spelt.
   */
  readonly textFromValues: (
    values: readonly unknown[],
    canonical: (address: string) => string,
  ) => string | undefined;
}

const ROOTS = ['ip', 'user', 'body', 'params', 'query', 'headers'] as const;
type Root = (typeof ROOTS)[number];

const KEY_FORM =
  "a template such as '{ip}', '{user.id}' or 'phone:{body.phone}', a function of the context, or a list of these";

/**
 * Compiles a key.
 * @throws {TypeError} when it is none; the message says what is wrong and the right form
 */
export function compileKey(spec: unknown, normalization: Normalization = NOTHING): CompiledKey {
  if (typeof spec === 'string') return compileTemplate(spec, normalization);
  if (typeof spec === 'function') return compileFunction(spec as FromContext<unknown>, normalization);
  if (Array.isArray(spec) && spec.length > 0) return compileList(spec as readonly KeyPart[], normalization);
  throw new TypeError(`${formatForLog(spec)} is no key: ${KEY_FORM}`);
}

// ---- templates

interface Placeholder {
  readonly path: string;
  readonly read: (request: LimitedRequest) => unknown;
  readonly normalizer: Normalizer | undefined;
}

function compileTemplate(template: string, normalization: Normalization): CompiledKey {
  refuseBareRoot(template);
  const pieces = split(template).map((piece) =>
    typeof piece === 'string' ? piece : normalized(piece, normalization),
  );
  const placeholders = pieces.filter((piece): piece is Placeholder => typeof piece !== 'string');
  const render = renderer(pieces);
  const [only] = placeholders;
  const textFromValues: CompiledKey['textFromValues'] = (values, canonical) => {
    if (values.length !== placeholders.length) {
      const wanted = placeholders.map(({ path }) => `{${path}}`).join(', ') || 'nothing';
      throw new TypeError(
        `the key ${formatForLog(template)} is filled with ${wanted}, got ${values.length} values`,
      );
    }
    const spelt = (value: unknown, i: number): unknown =>
      placeholders[i]?.path === 'ip' && typeof value === 'string'
        ? canonical(value)
        : normalizeValue(isOfUser(placeholders[i]) ? idOf(value) : value, placeholders[i]?.normalizer);
    return render(values.map(spelt));
  };
  const base = {
    spec: template,
    sources: [template],
    isDynamic: false,
    paths: placeholders.map(({ path }) => path),
    normalizers: placeholders.map(({ normalizer }) => normalizer?.spec),
    textFromValues,
  };
  if (only === undefined) {
    const constant = render([]);
    return { ...base, read: () => constant };
  }
  if (placeholders.length === 1) {
    const head = typeof pieces[0] === 'string' ? encodePart(pieces[0]) : '';
    if (pieces.at(-1) === only) return { ...base, read: (request) => renderLast(head, only.read(request)) };
  }
  return { ...base, read: (request) => render(placeholders.map((placeholder) => placeholder.read(request))) };
}

/** A placeholder that reads its value as it is spelt. */
function normalized({ path, read }: Placeholder, { ofPath }: Normalization): Placeholder {
  const normalizer = ofPath(path);
  return normalizer === undefined
    ? { path, read, normalizer }
    : { path, read: (request) => normalizeValue(read(request), normalizer, request), normalizer };
}

/** A value that can be counted by, as it is spelt; any other as it is. */
function normalizeValue(value: unknown, normalizer: Normalizer | undefined, visit?: LimitedRequest): unknown {
  const text = normalizer === undefined ? undefined : textOf(value);
  return normalizer === undefined || text === undefined ? value : normalizer.normalize(text, visit);
}

/** The common shape, a constant and then one value, without a list in between. */
function renderLast(head: string, value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : boundText(head + encodePart(text));
}

function renderer(
  pieces: readonly (string | Placeholder)[],
): (values: readonly unknown[]) => string | undefined {
  const encoded = pieces.map((piece) => (typeof piece === 'string' ? encodePart(piece) : undefined));
  return (values) => {
    let text = '';
    let next = 0;
    for (const [i, constant] of encoded.entries()) {
      if (constant !== undefined) {
        text += constant;
        continue;
      }
      const value = textOf(values[next++]);
      if (value === undefined) return undefined;
      // a value ends where the next piece begins, whatever characters it has
      text += i === encoded.length - 1 ? encodePart(value) : encodePart(value) + PART_END;
    }
    return boundText(text);
  };
}

function split(template: string): (string | Placeholder)[] {
  const pieces = template.split(/(\{[^{}]*\})/).filter((piece) => piece !== '');
  if (template.trim() === '') throw new TypeError(`an empty text is no key: ${KEY_FORM}`);
  return pieces.map((piece) => {
    if (/^\{.*\}$/s.test(piece)) return compilePlaceholder(piece.slice(1, -1));
    if (/[{}]/.test(piece)) {
      throw new TypeError(`${formatForLog(template)} has a brace without its other half: ${KEY_FORM}`);
    }
    return piece;
  });
}

/** A path in the clear, wherever it stands in a constant, was most likely meant to be read. */
const BARE_PATH = /(?:^|[^\w.])((?:user|body|params|query|headers)\.[\w.-]+)/;

function refuseBareRoot(template: string): void {
  const [, path] = BARE_PATH.exec(template.replace(/\{[^{}]*\}/g, '|')) ?? [];
  if (path !== undefined && path !== template) {
    throw new TypeError(
      `${formatForLog(template)} has ${path} as a constant text; for the value write {${path}}`,
    );
  }
  const [root] = template.split('.');
  if (ROOTS.includes(root as Root) && !/[{}]/.test(template)) {
    throw new TypeError(
      `${formatForLog(template)} is a constant text, one counter for all callers; for the value write ${formatForLog(`{${template}}`)}`,
    );
  }
}

function compilePlaceholder(path: string): Placeholder {
  const [root, ...rest] = path.split('.');
  if (!ROOTS.includes(root as Root)) {
    throw new TypeError(
      `{${formatForLog(path).slice(1, -1)}} is no placeholder; they begin with ${ROOTS.join(', ')}`,
    );
  }
  if (root === 'ip') {
    if (rest.length > 0) throw new TypeError(`{${path}}: the address has no fields; write {ip}`);
    return { path, read: (request) => request.address, normalizer: undefined };
  }
  if (rest.length === 0 || rest.includes('')) {
    throw new TypeError(`{${path}} names no value; write a field of it, such as {${String(root)}.id}`);
  }
  // a header's name may hold dots, and Node gives header names in lower case
  const steps = root === 'headers' ? [rest.join('.').toLowerCase()] : rest;
  if (steps.includes('__proto__')) throw new TypeError(`{${path}}: __proto__ is no field of a request`);
  const read = (request: LimitedRequest): unknown => readPath(request.request?.[root as Root], steps);
  return { path, read: root === 'user' ? (request) => idOf(read(request)) : read, normalizer: undefined };
}

/** Follows a path into what the visitor sent: no step throws, whatever is there. */
function readPath(start: unknown, steps: readonly string[]): unknown {
  let value = start;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function isOfUser(placeholder: Placeholder | undefined): boolean {
  return placeholder?.path.startsWith('user.') === true;
}

/** The text of a scalar, whatever its type; `undefined` for all that cannot tell one visitor from another. */
function textOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value === '' ? undefined : value;
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined;
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return undefined;
  }
}

// ---- functions and lists

function compileFunction(key: FromContext<unknown>, { ofFunction }: Normalization): CompiledKey {
  const textOfSpelt = (values: readonly unknown[], visit?: LimitedRequest): string | undefined =>
    textOfAll(values.map((value) => normalizeValue(idOf(value), ofFunction, visit)));
  return {
    spec: 'ƒ',
    sources: [key],
    isDynamic: true,
    paths: [],
    read: (request, context) =>
      andThen(key(context), (value) => textOfSpelt(Array.isArray(value) ? value : [value], request)),
    normalizers: [ofFunction?.spec],
    textFromValues: (values) => textOfSpelt(values),
  };
}

/** The text of a list of values; `undefined` where one of them, or all, can tell nobody apart. */
export function textOfAll(values: readonly unknown[]): string | undefined {
  const texts = values.map(textOf);
  if (texts.length === 0 || texts.includes(undefined)) return undefined;
  return encodeParts(texts as string[]);
}

function compileList(parts: readonly KeyPart[], normalization: Normalization): CompiledKey {
  const keys = parts.map((part) => {
    if (Array.isArray(part)) throw new TypeError(`a key is a flat list: ${KEY_FORM}`);
    return compileKey(part, normalization);
  });
  // inside a part no PART_END follows another, so two of them can only be where a part ends
  const join = (texts: readonly (string | undefined)[]): string | undefined =>
    texts.includes(undefined) ? undefined : boundText(texts.join(PART_END + PART_END));
  return {
    spec: JSON.stringify(keys.map(({ spec }) => spec)),
    sources: keys.flatMap(({ sources }) => sources),
    isDynamic: keys.some(({ isDynamic }) => isDynamic),
    paths: keys.flatMap(({ paths }) => paths),
    normalizers: keys.flatMap(({ normalizers }) => normalizers),
    read: keys.some(mayWait)
      ? (request, context) =>
          all<(string | undefined)[], string | undefined>(
            keys.map((key) => attempt(() => key.read(request, context))),
            join,
          )
      : (request, context) => join(keys.map((key) => key.read(request, context) as string | undefined)),
    textFromValues: (values, canonical) => join(textsFromValues(keys, values, canonical)),
  };
}

/** Whether the key calls a function, which may return a promise, or fail while other keys are read. */
function mayWait({ isDynamic, normalizers }: CompiledKey): boolean {
  return isDynamic || normalizers.some((spec) => typeof spec === 'function');
}

/** Hands out the values given by hand: to each template as many as it has placeholders, to a function one. */
function textsFromValues(
  keys: readonly CompiledKey[],
  values: readonly unknown[],
  canonical: (address: string) => string,
): (string | undefined)[] {
  let next = 0;
  const texts = keys.map((key) => {
    const count = key.isDynamic ? 1 : key.paths.length;
    const part = values.slice(next, (next += count));
    return key.textFromValues(
      part.flatMap((value: unknown) => value),
      canonical,
    );
  });
  if (next !== values.length)
    throw new TypeError(`the key is filled with ${next} values, got ${values.length}`);
  return texts;
}
