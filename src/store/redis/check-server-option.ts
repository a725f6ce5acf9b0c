import { formatForLog } from '../../core/errors.js';
import { COUNT, mismatch, wholeNumber } from '../../core/validate.js';
import { checkConnection } from './check-connection.js';
import { CLUSTER_NAMES, hintFor, SERVER_NAMES } from './option-names.js';
import {
  isNode,
  isNonEmptyString,
  isSet,
  type OptionValues,
  rejectUnknown,
  valuesIn,
} from './option-values.js';
import { adviceForValue } from './redis-hints.js';
import type { RedisConnectionOptions } from './redis-options.js';

/** Options that say where the server is. */
const PLACES = ['host', 'port', 'path', 'sentinels', 'Connector'];
const PORT = { ...wholeNumber(1, 65_535), expected: 'a port from 1 to 65535' };

/**
 * Reads and checks the options of ioredis' `Redis`.
 * @param expected all forms of the option, for the error
 */
export function readServer(given: object, expected: string): RedisConnectionOptions {
  const options = valuesIn(given, SERVER_NAMES);
  const hasPlace = PLACES.some((place) => isSet(options[place]));
  // a custom Connector may read options of its own; options without any place get another error below
  const isLenient = !hasPlace || options['Connector'] !== undefined;
  rejectUnknown(given, SERVER_NAMES, hintForServer, { isLenient });
  if (!hasPlace) throw new TypeError(`${formatForLog(given)} is not ${expected}${adviceForValue(given)}`);
  checkPlace(options);
  checkConnection(options);
  return options;
}

function hintForServer(name: string): string | undefined {
  if (CLUSTER_NAMES.has(name)) return 'it is an option of a Cluster: { cluster: [nodes], options }';
  return hintFor(name, SERVER_NAMES);
}

function checkPlace({ host, port, path, db, sentinels, name, role }: OptionValues): void {
  if (host !== undefined && !isNonEmptyString(host))
    throw new TypeError(`host: ${formatForLog(host)} is not a name or an address`);
  if (isNonEmptyString(host)) rejectUrlAsHost(host);
  if (port !== undefined && !PORT.test(port)) throw new TypeError(`port: ${mismatch(port, PORT)}`);
  if (isSet(path) && !isNonEmptyString(path))
    throw new TypeError(`path: ${formatForLog(path)} is not the path of a unix socket`);
  if (db !== undefined && !COUNT.test(db)) throw new TypeError(`db: ${mismatch(db, COUNT)}`);
  if (isSet(path)) rejectTogether('path', { host, port, sentinels });
  if (isSet(sentinels)) {
    rejectTogether('sentinels', { host, port });
    checkSentinels(sentinels, name, role);
  } else if (isSet(name)) {
    throw new TypeError(
      "name: is the primary's name among the sentinels, but sentinels is missing; to name the connection, use connectionName",
    );
  }
}

/** ioredis would look for a server of this name. */
function rejectUrlAsHost(host: string): void {
  if (host.includes('/')) {
    throw new TypeError(
      "host: is not the name of a host, because it contains a slash; for a URL write redis: 'redis://host:6379'",
    );
  }
  if (/^[^:]+:\d+$/.test(host)) throw new TypeError('host: contains a port; write { host, port }');
}

function checkSentinels(sentinels: unknown, name: unknown, role: unknown): void {
  const isSentinel = (sentinel: unknown): boolean => typeof sentinel === 'object' && isNode(sentinel);
  if (!Array.isArray(sentinels) || sentinels.length === 0 || !sentinels.every(isSentinel))
    throw new TypeError('sentinels: is not a list of sentinels, each { host, port }');
  if (!isNonEmptyString(name))
    throw new TypeError("name: is missing; expected the primary's name among the sentinels");
  if (role !== undefined && role !== 'master')
    throw new TypeError(
      `role: ${formatForLog(role)} is not 'master'; counters can only be written to the primary`,
    );
}

/** With two places, ioredis would silently use one of them. */
function rejectTogether(place: string, others: OptionValues): void {
  for (const [other, value] of Object.entries(others)) {
    if (isSet(value))
      throw new TypeError(
        `${place} and ${other} cannot be used together; use { host, port }, { path } or { sentinels, name }`,
      );
  }
}
