import { formatForLog } from '../../core/errors.js';
import { hintFor } from './option-names.js';
import { adviceForString } from './redis-hints.js';

/** Options that a URL may set after `?`. ioredis reads them as strings, so others, such as `false`, would be misread. */
const NAMES: ReadonlySet<string> = new Set([
  'db',
  'family',
  'keyPrefix',
  'connectionName',
  'clientInfoTag',
  'username',
  'password',
]);

/**
 * Checks a URL or the path of a unix socket.
 * @param expected all forms of the option, for the error
 * @throws {TypeError} if it is wrong; never shows the string, which may contain a password
 */
export function checkUrl(text: string, expected: string): void {
  const [, query] = /^\/(?!\/)[^?]*\??(.*)$/s.exec(text) ?? [];
  if (query !== undefined) {
    checkQuery(new URLSearchParams(query));
    return;
  }
  if (!isUrl(text)) throw new TypeError(`the string is not ${expected}; ${adviceForString(text)}`);
  const url = new URL(text);
  const { pathname, searchParams } = url;
  checkParts(url);
  if (!/^\/?\d*$/.test(pathname))
    throw new TypeError('the path of the URL must be the number of a database, as in /0');
  checkQuery(searchParams);
  if (pathname.length > 1 && searchParams.has('db'))
    throw new TypeError('the URL sets the database twice, in its path and as db; remove one of them');
  for (const name of ['username', 'password'] as const)
    if (url[name] !== '' && searchParams.has(name))
      throw new TypeError(`the URL sets ${name} twice, before its host and after ?; remove one of them`);
}

/** Throws for parts of a URL that ioredis would ignore or misread. */
export function checkParts({ hostname, port, hash }: URL): void {
  if (hostname.includes(','))
    throw new TypeError(
      'the URL has several hosts; set { cluster: [nodes] } for a Cluster, or { sentinels, name } for sentinels',
    );
  if (port === '0') throw new TypeError('the port of the URL is 0; write a port from 1 to 65535');
  if (hash !== '')
    throw new TypeError('the URL contains #, and what follows it is ignored; in a password write %23');
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
  // a password with a question mark ends up here, with the host after it, and must not be shown
  const mayBePassword = query.toString().includes(encodeURIComponent('@'));
  for (const [name, value] of query) {
    const problem = problemOf(name, value);
    if (problem !== undefined)
      throw new TypeError(mayBePassword ? 'the URL contains ? before @; in a password write %3F' : problem);
    if (query.getAll(name).length > 1) throw new TypeError(`the URL sets ${name} twice; remove one of them`);
  }
}

function problemOf(name: string, value: string): string | undefined {
  if (!NAMES.has(name)) return `${formatForLog(name)} in the URL: ${adviceFor(name)}`;
  if (name === 'family' && !/^[046]$/.test(value))
    return `family in the URL: ${formatForLog(value)} is not one of 0, 4, 6`;
  if (name === 'db' && !/^\d+$/.test(value))
    return `db in the URL: ${formatForLog(value)} is not the number of a database`;
  return undefined;
}

/** What to write instead of an option that a URL cannot set. */
function adviceFor(name: string): string {
  if (/^(tls|ssl)/i.test(name))
    return 'for TLS begin the URL with rediss://, or set tls in an object: { host, port, tls: {} }';
  const hint = hintFor(name, NAMES);
  const rest = `a URL can only set ${[...NAMES].join(', ')}; set other options in an object: { host, port, … }`;
  return hint === undefined ? rest : `${hint} (${rest})`;
}
