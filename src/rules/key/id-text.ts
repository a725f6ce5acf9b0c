import { types } from 'node:util';

/** Replaces invalid bytes in decoded text, so different bytes get the same text. */
const REPLACEMENT = '\ufffd';

/**
 * The text of an id that is an object: an ObjectId, a UUID, a URL. Only for values that the application has set, not for
 * values that a client sends. Returns the object itself if its text would be the same for all objects of its class.
 */
export function idOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (types.isUint8Array(value)) return Buffer.from(value).toString('hex');
  if (types.isDate(value)) return value.getTime();
  const text = textOf(value);
  // plain objects, maps and promises of any realm have the text "[object …]"
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
