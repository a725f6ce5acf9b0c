import { oneLine } from '../core/errors.js';
import type { LimitedRequest } from '../core/request.js';
import type { CompiledKey, ValueReader } from './key/key-types.js';
import { scalarText } from './key/key-text.js';

/** What may be missing: a placeholder's value, a field of the user, the user, or the result of a key function. */
export type ValueKind = 'field' | 'user field' | 'user' | 'function';

/** A value of a rule's key, of which no request has had one yet. */
export interface WatchedValue {
  readonly kind: ValueKind;
  /** For messages: `{body.phone}`, `the key function`. */
  readonly name: string;
  /** Whether a request without the whole key has it; `undefined` if that is not known. */
  readonly isIn: (request: LimitedRequest) => boolean | undefined;
}

/** Whether requests may lack a value of a key. */
export function canLackValues({ isDynamic, paths }: CompiledKey): boolean {
  return isDynamic || paths.some((path) => path !== 'ip');
}

/** The values of a key that requests may lack. An address is not one of them: it has a warning of its own. */
export function watchedValues(key: CompiledKey): WatchedValue[] {
  const byPath = new Map(key.readers.map((reader) => [reader.path, reader]));
  byPath.delete('ip');
  return [...[...byPath.values()].flatMap(valuesOfPlaceholder), ...resultOfFunction(key)];
}

function valuesOfPlaceholder(reader: ValueReader): WatchedValue[] {
  const name = `{${oneLine(reader.path)}}`;
  const isIn = (request: LimitedRequest): boolean | undefined => hasValue(reader, request);
  if (!reader.path.startsWith('user.')) return [{ kind: 'field', name, isIn }];
  return [
    { kind: 'user', name, isIn: hasUser },
    // an anonymous request does not tell whether users have the field
    { kind: 'user field', name, isIn: (request) => (hasUser(request) ? isIn(request) : undefined) },
  ];
}

/** If no placeholder lacks its value, a function has returned none. It must not be called again. */
function resultOfFunction({ isDynamic, sources, readers }: CompiledKey): WatchedValue[] {
  if (!isDynamic) return [];
  const count = sources.filter((source) => typeof source === 'function').length;
  return [
    {
      kind: 'function',
      name: count === 1 ? 'the key function' : 'one of the key functions',
      isIn: (request) => (readers.every((reader) => hasValue(reader, request)) ? false : undefined),
    },
  ];
}

function hasValue({ read }: ValueReader, request: LimitedRequest): boolean | undefined {
  try {
    return scalarText(read(request)) !== undefined;
  } catch {
    // a normalize function of the application failed only now
    return undefined;
  }
}

function hasUser({ parts }: LimitedRequest): boolean {
  return parts?.user !== undefined && parts.user !== null;
}
