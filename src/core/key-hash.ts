import { createHmac, createSecretKey } from 'node:crypto';
import { withLastResult } from './last-result.js';
import type { OptionReader } from './validate.js';

/** Turns the encoded values of a key into the string that the store sees. Equal strings stay equal, in all rules. */
export type KeyHasher = (text: string) => string;

/** Leaves the values unchanged. */
export const plainKey: KeyHasher = (text) => text;

/** The module's option `hashKeys`. */
export interface HashKeys {
  /** The secret of the HMAC, at least 16 characters or 16 bytes. With another secret all counters start again at 0. */
  readonly secret: string | Uint8Array;
}

/** Begins every hashed key. No other encoded value begins with it. */
const HASH_PREFIX = '#';
const MIN_LENGTH = 16;
const EXPECTED = `{ secret } with a string of at least ${MIN_LENGTH} characters or a Buffer of at least ${MIN_LENGTH} bytes`;

/**
 * Reads the option `hashKeys`.
 * @throws an error of `reader` for a wrong value; no message shows a part of it
 */
export function keyHasherFrom(hashKeys: unknown, reader: OptionReader): KeyHasher {
  if (typeof hashKeys !== 'object' || hashKeys === null || Object.keys(hashKeys).join() !== 'secret') {
    throw reader.invalid('hashKeys', `is not ${EXPECTED}`);
  }
  const { secret } = hashKeys as { readonly secret: unknown };
  if (secret === undefined) throw reader.invalid('hashKeys', `secret is missing; expected ${EXPECTED}`);
  if (typeof secret !== 'string' && !isBytes(secret)) {
    throw reader.invalid('hashKeys', `secret is not a string or a Buffer; expected ${EXPECTED}`);
  }
  if (secret.length < MIN_LENGTH)
    throw reader.invalid('hashKeys', `secret is too short; expected ${EXPECTED}`);
  return hmacHasher(secret);
}

/** 132 bits of HMAC-SHA-256. Over UTF-16, because in UTF-8 all broken surrogates would be equal. */
function hmacHasher(secret: string | Uint8Array): KeyHasher {
  const key = createSecretKey(typeof secret === 'string' ? Buffer.from(secret) : secret);
  return withLastResult((text) => {
    const digest = createHmac('sha256', key).update(Buffer.from(text, 'utf16le')).digest('base64url');
    return HASH_PREFIX + digest.slice(0, 22);
  });
}

/** A Buffer of another realm is not an instance of this realm's class. */
function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
}
