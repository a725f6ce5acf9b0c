import { domainToASCII } from 'node:url';
import { withLastResult } from '../../core/last-result.js';

/** Control, format and zero-width characters. A reader does not see them, and each would make another value. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Characters that are not part of a domain. Some of them would end the host of a URL. */
const NOT_IN_DOMAIN = /[\s/?#:@\\%[\]]/;
/** A domain has at most 253 characters. Converting a longer one to ASCII takes time quadratic in its length. */
const MAX_DOMAIN = 253;

/**
 * The longest text that is normalized. An e-mail address has at most 254 characters (RFC 5321, 4.5.3.1.3, erratum 1690), a
 * phone number at most 15 digits (E.164); the rest is for blanks and separators.
 */
export const MAX_LENGTH = 1_024;

/**
 * A value is too long to be normalized, so it cannot be counted: reading all of it would take as long as the client likes,
 * and each length of padding would get a counter of its own.
 */
export class TooLongError extends RangeError {
  override readonly name = 'TooLongError';
}

// one instance for all: it contains nothing of the text, and creating a stack takes time
const TOO_LONG = new TooLongError(`longer than ${MAX_LENGTH} characters`);

/**
 * Normalizes an e-mail address: compatible characters become one (NFKC), invisible characters and surrounding blanks go,
 * letters become lower case, an international domain becomes ASCII. Dots and `+tags` stay, because each provider treats
 * them differently.
 * @throws {TooLongError}
 */
export const email = bounded((text) => {
  const lower = withoutInvisible(text).trim().toLowerCase().normalize('NFKC');
  const at = lower.lastIndexOf('@');
  const domain = lower.slice(at + 1);
  if (at === -1 || domain.length > MAX_DOMAIN || NOT_IN_DOMAIN.test(domain)) return lower;
  return lower.slice(0, at + 1) + (domainToASCII(domain) || domain);
});

/**
 * Normalizes a phone number: its digits, after a `+` if the text starts with `+` or `00`. Returns `''` if there are no
 * digits. The national and the international form of a number stay different, because the text does not say which country
 * is meant.
 * @throws {TooLongError}
 */
export const phone = bounded((text) => {
  const plain = withoutInvisible(text).replace(FOREIGN_DIGIT, toAscii);
  const digits = plain.replace(/[^0-9]/g, '');
  const isInternational = /^[^0-9]*\+/.test(plain);
  const number = isInternational ? digits : digits.replace(/^00/, '+');
  return /[0-9]/.test(number) ? (isInternational ? '+' : '') + number : '';
});

/** Throws for long texts, and caches the last result. */
function bounded(normalize: (text: string) => string): (text: string) => string {
  const cached = withLastResult(normalize);
  return (text) => {
    if (text.length > MAX_LENGTH) throw TOO_LONG;
    return cached(text);
  };
}

/** Composes twice: an invisible character may separate two characters that compose to one. */
function withoutInvisible(text: string): string {
  return text.normalize('NFKC').replace(INVISIBLE, '').normalize('NFKC');
}

const FOREIGN_DIGIT = /(?![0-9])\p{Nd}/gu;

/** The ten digits of each script follow one another. */
function toAscii(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}
