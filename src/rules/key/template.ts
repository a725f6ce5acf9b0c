import { formatForLog, oneLine, quoted } from '../../core/errors.js';
import { encodePart } from '../../core/counter-key.js';
import type { LimitedRequest } from '../../core/request.js';
import { idToScalar } from './ids.js';
import { hintForPlaceholder, pathFor, type Root, ROOTS } from './key-hints.js';
import { templateText, textWithLast } from './key-text.js';
import type { CompiledKey, KeyFiller } from './key-types.js';
import { type Normalization, type Normalizer, normalizeValue } from './normalize.js';

/** How to write a key, for messages. */
export const EXPECTED_KEY =
  "a template such as '{ip}', '{user.id}' or 'phone:{body.phone}', a function of the context, or a list of these";

interface Placeholder {
  readonly path: string;
  readonly read: (request: LimitedRequest) => unknown;
  readonly normalizer: Normalizer | undefined;
}

/** @throws {TypeError} if the template is wrong; the message says how to write it */
export function compileTemplate(template: string, normalization: Normalization): CompiledKey {
  rejectBarePath(template);
  const pieces = split(template).map((piece) =>
    typeof piece === 'string' ? piece : withNormalizer(piece, normalization),
  );
  const placeholders = pieces.filter((piece) => typeof piece !== 'string');
  const toText = templateText(pieces.map((piece) => (typeof piece === 'string' ? piece : undefined)));
  return {
    spec: template,
    sources: [template],
    isDynamic: false,
    paths: placeholders.map(({ path }) => path),
    readers: placeholders,
    normalizers: placeholders.map(({ normalizer }) => normalizer?.spec),
    read: readerOf(pieces, placeholders, toText),
    textFromValues: fillerOf(template, placeholders, toText),
  };
}

function split(template: string): (string | Placeholder)[] {
  const pieces = template.split(/(\{[^{}]*\})/).filter((piece) => piece !== '');
  if (template.trim() === '') throw new TypeError(`an empty string is not a key; use ${EXPECTED_KEY}`);
  return pieces.map((piece) => {
    if (/^\{.*\}$/s.test(piece)) return compilePlaceholder(piece.slice(1, -1));
    if (/[{}]/.test(piece)) {
      throw new TypeError(`${formatForLog(template)} has an unmatched brace; use ${EXPECTED_KEY}`);
    }
    return piece;
  });
}

function readerOf(
  pieces: readonly (string | Placeholder)[],
  placeholders: readonly Placeholder[],
  toText: (values: readonly unknown[]) => string | undefined,
): CompiledKey['read'] {
  const [first] = placeholders;
  if (first === undefined) {
    const constant = toText([]);
    return () => constant;
  }
  if (placeholders.length === 1 && pieces.at(-1) === first) {
    const constant = typeof pieces[0] === 'string' ? encodePart(pieces[0]) : '';
    return (request) => textWithLast(constant, first.read(request));
  }
  return (request) => toText(placeholders.map((placeholder) => placeholder.read(request)));
}

function fillerOf(
  template: string,
  placeholders: readonly Placeholder[],
  toText: (values: readonly unknown[]) => string | undefined,
): KeyFiller {
  return (values, canonical) => {
    if (values.length !== placeholders.length) {
      const wanted = placeholders.length === 0 ? 'no values' : 'one value for each of its placeholders';
      throw new TypeError(`the key ${formatForLog(template)} takes ${wanted}, got ${values.length}`);
    }
    return toText(placeholders.map((placeholder, i) => givenValue(placeholder, values[i], canonical)));
  };
}

/** A value that the caller passes, in the form in which the placeholder would read it from a request. */
function givenValue(
  { path, normalizer }: Placeholder,
  value: unknown,
  canonical: (address: string) => string,
): unknown {
  if (path === 'ip' && typeof value === 'string') return canonical(value);
  return normalizeValue(path.startsWith('user.') ? idToScalar(value) : value, normalizer);
}

/** A placeholder that normalizes the value it reads. */
function withNormalizer({ path, read }: Placeholder, { ofPath }: Normalization): Placeholder {
  const normalizer = ofPath(path);
  return normalizer === undefined
    ? { path, read, normalizer }
    : { path, read: (request) => normalizeValue(read(request), normalizer, request), normalizer };
}

function compilePlaceholder(path: string): Placeholder {
  const [root, ...rest] = path.split('.');
  if (!ROOTS.includes(root as Root)) {
    throw new TypeError(
      `{${oneLine(path)}} is not a placeholder; placeholders begin with ${ROOTS.join(', ')}${hintForPlaceholder(path)}`,
    );
  }
  if (root === 'ip') {
    if (rest.length > 0) throw new TypeError(`{${path}}: an address has no fields; write {ip}`);
    return { path, read: (request) => request.address, normalizer: undefined };
  }
  if (rest.length === 0 || rest.includes('')) {
    throw new TypeError(`{${path}} does not name a value; add a field, such as {${String(root)}.id}`);
  }
  // the name of a header may contain dots, and Node has header names in lower case
  const fields = root === 'headers' ? [rest.join('.').toLowerCase()] : rest;
  if (fields.includes('__proto__')) throw new TypeError(`{${path}}: a path must not contain __proto__`);
  const read = (request: LimitedRequest): unknown => readPath(request.parts?.[root as Root], fields);
  return {
    path,
    read: root === 'user' ? (request) => idToScalar(read(request)) : read,
    normalizer: undefined,
  };
}

/** Follows a path into what the client sent. Never throws. */
function readPath(start: unknown, fields: readonly string[]): unknown {
  let value = start;
  for (const field of fields) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[field];
  }
  return value;
}

/** A path without braces, anywhere in a constant. It was most likely meant as a placeholder. */
const BARE_PATH = /(?:^|[^\w.])((?:user|body|params|query|headers)\.[\w.-]+)/;

function rejectBarePath(template: string): void {
  const [, path] = BARE_PATH.exec(template.replace(/\{[^{}]*\}/g, '|')) ?? [];
  if (path !== undefined && path !== template) {
    throw new TypeError(
      `${formatForLog(template)} contains ${path} as a constant; for the value write {${path}}`,
    );
  }
  const [root] = template.split('.');
  if (ROOTS.includes(root as Root) && !/[{}]/.test(template)) {
    throw new TypeError(
      `${formatForLog(template)} is a constant, so all clients would share one counter; for the value write ${quoted(`{${pathFor(template) ?? template}}`)}`,
    );
  }
}
