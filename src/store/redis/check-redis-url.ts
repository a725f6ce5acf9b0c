import { formatForLog } from '../../core/errors.js';
import { adviceForString } from './redis-hints.js';

/** Options that a URL may set after `?`. ioredis reads them as strings, so others, such as `false`, would be misread. */
const NAMES = ['db', 'family', 'keyPrefix', 'connectionName', 'clientInfoTag', 'username', 'password'];

/**
 * Checks a URL or the path of a unix socket.
 * @param expected all forms of the option, for the error
 * @throws {TypeError} if it is wrong; never shows the string, which may contain a password
 */
export function checkUrl(text: string, expected: string): void {
  const [, query] = /^\/[^?]*\??(.*)$/s.exec(text) ?? [];
  if (query !== undefined) {
    checkQuery(new URLSearchParams(query));
    return;
  }
  if (!isUrl(text)) throw new TypeError(`the string is not ${expected}; ${adviceForString(text)}`);
  const { pathname, searchParams } = new URL(text);
  if (!/^\/?\d*$/.test(pathname))
    throw new TypeError('the path of the URL must be the number of a database, as in /0');
  checkQuery(searchParams);
  if (pathname.length > 1 && searchParams.has('db'))
    throw new TypeError('the URL sets the database twice, in its path and as db; remove one of them');
}

/** Whether a string is a URL of a server, with a user name and password that can be decoded. */
export function isUrl(text: string): boolean {
  try {
    const { username, password } = new URL(text);
    decodeURIComponent(username + password);
    return /^rediss?:\/\/[^/]/.test(text);
  } catch {
    return false;
  }
}

function checkQuery(query: URLSearchParams): void {
  for (const [name, value] of query) {
    if (!NAMES.includes(name))
      throw new TypeError(
        `${formatForLog(name)} in the URL: a URL can only set ${NAMES.join(', ')}; set other options in an object: { host, port, … }`,
      );
    if (name === 'db' && !/^\d+$/.test(value))
      throw new TypeError(`db in the URL: ${formatForLog(value)} is not the number of a database`);
  }
}
