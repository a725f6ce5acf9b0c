/** The end of a message about `NaN`. */
export const NAN_HINT = '; Number(undefined) is NaN: is an environment variable not set?';

const NUMBER = /^\d+(\.\d+)?$/;
const TRUE = ['true', 'yes', 'on', '1'];
const FALSE = ['false', 'no', 'off', '0'];

/**
 * The end of a message about a wrong value that was probably read from the environment, where all values are strings: how
 * to convert it. `''` for any other value.
 * @param isValid tells whether the option accepts a value
 * @param toNumber what to write to convert a string to a number
 */
export function conversionHint(
  value: unknown,
  isValid: (value: unknown) => boolean,
  toNumber = 'Number(…)',
): string {
  if (typeof value !== 'string') return '';
  const isString = '; it is a string, perhaps from the environment: write';
  if (NUMBER.test(value) && isValid(Number(value))) return `${isString} ${toNumber}`;
  const text = value.toLowerCase();
  const looksLikeBoolean = TRUE.includes(text) || FALSE.includes(text);
  return looksLikeBoolean && isValid(TRUE.includes(text)) ? `${isString} … === 'true'` : '';
}
