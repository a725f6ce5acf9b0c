import type { OptionValues } from './option-values.js';

/** Matches what JavaScript writes into a template string for a variable that is not set. */
const UNSET = /(?:^|[/:@])(undefined|null|NaN)(?:[/:@?]|$)/;
const UNSET_WORD = /^(?:undefined|null|NaN)$/;

const INSTEAD =
  "Set it to the URL of your Redis, such as 'redis://localhost:6379', or write redis: false to count in the memory of this " +
  'process';

/**
 * Checks that no environment variable was missing when a URL was made.
 * @throws {TypeError} for an empty string, and for a URL such as `redis://undefined:6379`
 */
export function rejectUnsetVariables(url: string): void {
  if (url.trim() === '')
    throw new TypeError(
      `the string is empty; is an environment variable such as REDIS_URL empty? ${INSTEAD}`,
    );
  const [, unset] = UNSET.exec(url) ?? [];
  if (unset === undefined) return;
  throw new TypeError(
    `the string contains "${unset}" in place of a value; is an environment variable not set? ${INSTEAD}`,
  );
}

/**
 * Does the same for options of a connection.
 * @throws {TypeError} for one such as `host: 'undefined'`
 */
export function rejectUnsetWords(options: OptionValues, prefix: string): void {
  for (const name of ['host', 'username', 'password']) {
    const value = options[name];
    if (typeof value === 'string' && UNSET_WORD.test(value))
      throw new TypeError(`${prefix}${name}: is the word "${value}"; is its environment variable set?`);
  }
}
