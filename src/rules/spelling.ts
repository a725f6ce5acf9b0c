import { domainToASCII } from 'node:url';

/** Control, format and zero-width characters: nobody sees them, and each would make another value. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** What a domain does not hold, and an address of the web would end at. */
const NO_DOMAIN = /[\s/?#:@\\%[\]]/;

/**
 * An e-mail address in one spelling: compatible characters as one (NFKC), nothing unseen, no blanks around it, lower
 * case, an international domain as its ASCII form. Dots and `+tags` stay: what they mean is each provider's own.
 */
export function email(text: string): string {
  const lower = seen(text).trim().toLowerCase().normalize('NFKC');
  const at = lower.lastIndexOf('@');
  const domain = lower.slice(at + 1);
  if (at === -1 || NO_DOMAIN.test(domain)) return lower;
  return lower.slice(0, at + 1) + (domainToASCII(domain) || domain);
}

/**
 * A phone number in one spelling: its digits, after a `+` where the text begins with one or with `00`. `''` where there
 * are no digits. The national and the international form of a number stay two: which country is meant the text does not
 * say.
 */
export function phone(text: string): string {
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
