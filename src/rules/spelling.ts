import { domainToASCII } from 'node:url';

/** Control, format and zero-width characters: nobody sees them, and each would make another value. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** What a domain does not hold, and an address of the web would end at. */
const NO_DOMAIN = /[\s/?#:@\\%[\]]/;

/** An address has 254 characters at most (RFC 5321, 4.5.3.1.3, erratum 1690), a number 15 digits (E.164). */
const LONGEST_EMAIL = 320;
const LONGEST_PHONE = 64;
/** What may stand around and between digits, however often. */
const BETWEEN_DIGITS = /[\s().\-/]+/g;

/**
 * An e-mail address in one spelling: compatible characters as one (NFKC), nothing unseen, no blanks around it, lower
 * case, an international domain as its ASCII form. Dots and `+tags` stay: what they mean is each provider's own.
 *
 * `''` for what is longer than any address: to spell it takes time by the square of its length, which its sender would
 * choose.
 */
export function email(long: string): string {
  const text = long.trim();
  if (text.length > LONGEST_EMAIL) return '';
  const lower = seen(text).trim().toLowerCase().normalize('NFKC');
  const at = lower.lastIndexOf('@');
  const domain = lower.slice(at + 1);
  if (at === -1 || NO_DOMAIN.test(domain)) return lower;
  return lower.slice(0, at + 1) + (domainToASCII(domain) || domain);
}

/**
 * A phone number in one spelling: its digits, after a `+` where the text begins with one or with `00`. `''` where there
 * are no digits, or where it is longer than any number. The national and the international form of a number stay two: which country is meant the text does not
 * say.
 */
export function phone(long: string): string {
  const text = long.replace(BETWEEN_DIGITS, '');
  if (text.length > LONGEST_PHONE) return '';
  const plain = seen(text).replace(/\p{Nd}/gu, toAscii);
  const digits = plain.replace(/[^0-9]/g, '');
  const isInternational = /^[^0-9]*\+/.test(plain);
  const number = isInternational ? digits : digits.replace(/^00/, '+');
  return /[0-9]/.test(number) ? (isInternational ? '+' : '') + number : '';
}

/** Twice, since what was unseen may have stood between two characters that are one. */
function seen(text: string): string {
  return text.normalize('NFKC').replace(UNSEEN, '').normalize('NFKC');
}

/** Digits of each script are ten in a row. */
function toAscii(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}
