import { createHmac, createSecretKey } from 'node:crypto';
import type { OptionReader } from './validate.js';

/** Makes of the text of a key the text that stands in the store. Equal texts stay equal, whatever rule they belong to. */
export type KeyHasher = (text: string) => string;

/** The text as it is. */
export const plainKey: KeyHasher = (text) => text;

/** What the module's `hashKeys` is. */
export interface HashKeys {
  /** At least 16 characters, or 16 bytes. Of two secrets no counter is found under the other. */
  readonly secret: string | Uint8Array;
}

/** Begins every sealed text, and no other: no value, constant or hash begins with it. */
const HASH_PREFIX = '#';
const MIN_LENGTH = 16;
const FORM = `{ secret }, a text of at least ${MIN_LENGTH} characters or a Buffer of at least ${MIN_LENGTH} bytes`;

/**
 * The seal that `hashKeys` asks for; none where it is not given. No message shows any of it.
 * @throws what `read` makes of a secret that is none
 */
export function keyHasherFrom(hashKeys: unknown, reader: OptionReader): KeyHasher {
  if (hashKeys === undefined) return plainKey;
  if (typeof hashKeys !== 'object' || hashKeys === null || Object.keys(hashKeys).join() !== 'secret') {
    throw reader.invalid('hashKeys', `is not ${FORM}`);
  }
  const { secret } = hashKeys as { readonly secret: unknown };
  if (secret === undefined) throw reader.invalid('hashKeys', `secret is missing: ${FORM}`);
  if (typeof secret !== 'string' && !isBytes(secret)) {
    throw reader.invalid('hashKeys', `secret is neither a text nor a Buffer: ${FORM}`);
  }
  if (secret.length < MIN_LENGTH) throw reader.invalid('hashKeys', `secret is too short: ${FORM}`);
  return hmacHasher(secret);
}

/** 132 bits of HMAC-SHA-256. Over UTF-16, since in UTF-8 all ill-formed strings would look alike. */
function hmacHasher(secret: string | Uint8Array): KeyHasher {
  const key = createSecretKey(typeof secret === 'string' ? Buffer.from(secret) : secret);
  return (text) => {
    const digest = createHmac('sha256', key).update(Buffer.from(text, 'utf16le')).digest('base64url');
    return HASH_PREFIX + digest.slice(0, 22);
  };
}

/** A Buffer of another realm is no instance of ours. */
function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
}
