import { types } from 'node:util';

/** Replaces invalid bytes in decoded text, so different bytes get the same text. */
const REPLACEMENT = '\ufffd';

/**
 * Turns an id that is an object into a string or number: an ObjectId, a UUID, a URL, bytes, a date. Returns any other value
 * unchanged, also an object whose string would be the same for all objects of its class. Use it only for values that the
 * application sets, not for values that a client sends.
 */
export function idToScalar(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (types.isUint8Array(value)) return Buffer.from(value).toString('hex');
  if (types.isDate(value)) return value.getTime();
  const text = callToString(value);
  // plain objects, maps and promises of any realm have the text "[object …]"
  return text === undefined || text.startsWith('[object ') || text.includes(REPLACEMENT) ? value : text;
}

function callToString(value: object): string | undefined {
  const { toString } = value as { readonly toString?: unknown };
  if (typeof toString !== 'function' || toString === Object.prototype.toString) return undefined;
  try {
    const text: unknown = toString.call(value);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}
