import { domainToASCII } from 'node:url';

/** Control, format and zero-width characters: nobody sees them, and each would make another value. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** What a domain does not hold, and an address of the web would end at. */
const NO_DOMAIN = /[\s/?#:@\\%[\]]/;
/** A domain has at most 253 characters. Converting a longer one to ASCII takes time quadratic in its length. */
const MAX_DOMAIN = 253;

/**
 * The longest text that is normalized. An e-mail address has at most 254 characters (RFC 5321, 4.5.3.1.3, erratum 1690), a
 * phone number at most 15 digits (E.164); the rest is for blanks and separators.
 */
export const MAX_LENGTH = 1_024;

/**
 * A text is too long to be normalized, so it cannot be counted: reading all of it would take as long as the client likes,
 * and each length of padding would get a counter of its own.
 */
export class TooLongError extends RangeError {
  override readonly name = 'TooLongError';
}

// one instance for all: it contains nothing of the text, and creating a stack takes time
const TOO_LONG = new TooLongError(`longer than ${MAX_LENGTH} characters`);

/**
 * An e-mail address in one spelling: compatible characters as one (NFKC), nothing unseen, no blanks around it, lower
 * case, an international domain as its ASCII form. Dots and `+tags` stay: what they mean is each provider's own.
 * @throws {TooLongError}
 */
export const email = bounded((text) => {
  const lower = seen(text).trim().toLowerCase().normalize('NFKC');
  const at = lower.lastIndexOf('@');
  const domain = lower.slice(at + 1);
  if (at === -1 || domain.length > MAX_DOMAIN || NO_DOMAIN.test(domain)) return lower;
  return lower.slice(0, at + 1) + (domainToASCII(domain) || domain);
});

/**
 * A phone number in one spelling: its digits, after a `+` where the text begins with one or with `00`. `''` where there
 * are no digits. The national and the international form of a number stay two: which country is meant the text does not
 * say.
 * @throws {TooLongError}
 */
export const phone = bounded((text) => {
  const plain = seen(text).replace(FOREIGN_DIGIT, toAscii);
  const digits = plain.replace(/[^0-9]/g, '');
  const isInternational = /^[^0-9]*\+/.test(plain);
  const number = isInternational ? digits : digits.replace(/^00/, '+');
  return /[0-9]/.test(number) ? (isInternational ? '+' : '') + number : '';
});

/** Throws for long texts, and caches the last result: several rules of one request use the same value. */
function bounded(spell: (text: string) => string): (text: string) => string {
  let last = '';
  let spelt = '';
  return (text) => {
    if (text.length > MAX_LENGTH) throw TOO_LONG;
    if (text !== last) {
      spelt = spell(text);
      last = text;
    }
    return spelt;
  };
}

/** Twice, since what was unseen may have stood between two characters that are one. */
function seen(text: string): string {
  return text.normalize('NFKC').replace(UNSEEN, '').normalize('NFKC');
}

const FOREIGN_DIGIT = /(?![0-9])\p{Nd}/gu;

/** Digits of each script are ten in a row. */
function toAscii(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}
