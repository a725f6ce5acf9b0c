import { isPromise } from '../../core/maybe-promise.js';
import { wholeNumber } from '../../core/validate.js';

// Advice for values of the option `redis` that are none of its forms. No advice shows a part of a string: it may be a password.

const A_PORT = wholeNumber(1, 65_535);
/** Names under which the options of a connection, or a client, are in the options of other libraries. */
const WRAPPERS = ['redis', 'config', 'options', 'clientOptions', 'client'];

/** What to change in a string that is not a URL of a server. */
export function adviceForString(text: string): string {
  if (/^[\s"'`]|[\s"'`]$/.test(text)) return 'remove the quotes or spaces around it';
  if (/,\s*(?:rediss?:\/\/|[\w.-]+:\d)/.test(text))
    return "for several servers write { cluster: ['redis://host:6379', …] }";
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
  if (scheme === undefined) return "a URL begins with redis:// or rediss://, as in 'redis://host:6379'";
  return /^rediss?$/.test(scheme)
    ? 'percent-encode special characters of a password in a URL'
    : `the scheme of the URL is redis: or rediss:, not ${scheme}:`;
}

/** What to write instead of a value that is not a string; `''` if it is not known. */
export function adviceForValue(value: unknown): string {
  if (A_PORT.test(value)) return `; write { host: 'localhost', port: ${value} }`;
  if (Array.isArray(value)) return '; for a Cluster write { cluster: [nodes] }';
  if (typeof value === 'function') return '; pass an instance or a URL, not a class or a function';
  if (isPromise(value)) return '; await it, for example in useFactory of forRootAsync';
  return typeof value === 'object' && value !== null ? adviceForObject(value) : '';
}

function adviceForObject(value: object): string {
  if (value instanceof URL) return '; write the URL as a string: url.href';
  if (['getClient', 'getOrThrow', 'getOrNil'].some((name) => name in value)) {
    return '; pass the client that this service returns, not the service';
  }
  const wrapper = WRAPPERS.find((name) => name in value);
  if (wrapper !== undefined) return `; write the value of ${wrapper} itself: redis: …`;
  if ('host' in value) return '; host is undefined: is its environment variable set?';
  return Object.keys(value).length === 0 ? '' : '; host, port, path or sentinels is missing';
}
