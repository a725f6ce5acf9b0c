import { types } from 'node:util';

/** What a byte sequence that is not text becomes in a text: it cannot tell two of them apart. */
const REPLACEMENT = '\ufffd';

/**
 * The text of an id that is an object, as databases make them: an ObjectId, a UUID, a URL. For what the application has
 * put in place, not for what a client sends. An object is left as it is if its text would be the same for all of its kind.
 */
export function idOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (types.isUint8Array(value)) return Buffer.from(value).toString('hex');
  if (types.isDate(value)) return value.getTime();
  const text = textOf(value);
  // plain objects, maps and promises, of any realm, are "[object …]"
  return text === undefined || text.startsWith('[object ') || text.includes(REPLACEMENT) ? value : text;
}

function textOf(value: object): string | undefined {
  const { toString } = value as { readonly toString?: unknown };
  if (typeof toString !== 'function' || toString === Object.prototype.toString) return undefined;
  try {
    const text: unknown = toString.call(value);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}
