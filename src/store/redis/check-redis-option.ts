import { formatForLog } from '../../core/errors.js';
import { COUNT, wholeNumber } from '../../core/validate.js';
import { CLUSTER_NAMES, hintFor, SERVER_NAMES } from './option-names.js';
import { isClient, isClusterOption, type RedisClient, type RedisOption } from './redis-option.js';
import type { RedisClusterOptions, RedisConnectionOptions } from './redis-options.js';

type Values = Readonly<Record<string, unknown>>;

const REDIS_FORM =
  "a URL ('redis://host:6379', 'rediss://…'), ioredis options with host, port, path or sentinels, { cluster: [nodes], options }, or an ioredis client";

/** Options that a URL may set after `?`. ioredis reads them as text, so others, such as `false` for a boolean, would go wrong. */
const IN_URL = ['db', 'family', 'keyPrefix', 'connectionName', 'clientInfoTag', 'username', 'password'];
/** The properties of `{ cluster: [nodes], options }`. */
const CLUSTER_OPTION_NAMES = new Set(['cluster', 'options']);
const PLACES = ['host', 'port', 'path', 'sentinels', 'Connector'];
/** Options that choose a server, and therefore have no effect in a Cluster. */
const NOT_IN_CLUSTER: Readonly<Record<string, string>> = {
  host: 'cluster lists the nodes',
  port: 'cluster lists the nodes',
  path: 'cluster lists the nodes',
  sentinels: 'a Cluster has no sentinels',
  name: 'a Cluster has no sentinels',
  role: 'a Cluster has no sentinels',
};
const CLUSTER_DB =
  'the counters of a Cluster are always in database 0: leave db out, and give each application its own namespace';

/**
 * Reads and checks the option `redis`. Every value is read once, also through getters, so that the values checked are the ones used.
 * @throws {TypeError} with the option and its right form if it is wrong; passwords are never shown
 */
export function readRedisOption(redis: unknown): RedisOption {
  if (typeof redis === 'string') {
    checkUrl(redis);
    return redis;
  }
  if (isClient(redis)) {
    checkClient(redis);
    return redis;
  }
  if (typeof redis !== 'object' || redis === null || Array.isArray(redis))
    throw new TypeError(`${formatForLog(redis)} is not ${REDIS_FORM}`);
  if ('sendCommand' in redis) throw new TypeError(`a client of another library is not ${REDIS_FORM}`);
  return isClusterOption(redis) ? readCluster(redis) : readServer(redis);
}

function checkClient({ status, isCluster, options }: RedisClient): void {
  if (typeof (status as unknown) !== 'string')
    throw new TypeError(
      'the client has no status, so it is not a client of ioredis: the limiter sends commands only while status is ' +
        "'ready'. Pass an ioredis Redis or Cluster; in tests leave redis out, or use nestjs-freq-limit/testing",
    );
  if (!isCluster) return;
  checkKeyPrefix((options ?? {}) as Values);
  const { redisOptions } = (options ?? {}) as { readonly redisOptions?: { readonly db?: unknown } };
  if (Number(redisOptions?.db ?? 0) !== 0) throw new TypeError(`redisOptions.db: ${CLUSTER_DB}`);
}

function readServer(given: object): RedisConnectionOptions {
  const options = valuesIn(given, SERVER_NAMES);
  const hasPlace = PLACES.some((place) => isGiven(options[place]));
  // a custom Connector may read options of its own; options without any place get another error below
  const isLenient = !hasPlace || options['Connector'] !== undefined;
  refuseUnknown(
    given,
    SERVER_NAMES,
    (name) =>
      CLUSTER_NAMES.has(name)
        ? 'it is an option of a Cluster: { cluster: [nodes], options }'
        : hintFor(name, SERVER_NAMES),
    { isLenient },
  );
  if (!hasPlace) throw new TypeError(`${formatForLog(given)} is not ${REDIS_FORM}`);
  checkPlace(options);
  return options;
}

function checkPlace({ host, port, path, db, sentinels, name, role }: Values): void {
  if (host !== undefined && !isText(host))
    throw new TypeError(`host: ${formatForLog(host)} is not a name or an address`);
  if (port !== undefined && !isPort(port))
    throw new TypeError(`port: ${formatForLog(port)} is not a port, 1 to 65535`);
  if (isGiven(path) && !isText(path))
    throw new TypeError(`path: ${formatForLog(path)} is not the path of a unix socket`);
  if (db !== undefined && !COUNT.test(db))
    throw new TypeError(`db: ${formatForLog(db)} is not ${COUNT.expected}`);
  if (isGiven(path)) refuseTogetherWith('path', { host, port, sentinels });
  if (isGiven(sentinels)) {
    refuseTogetherWith('sentinels', { host, port });
    checkSentinels(sentinels, name, role);
  } else if (isGiven(name)) {
    throw new TypeError(
      "name: is the primary's name for sentinels, and sentinels is missing; to name the connection, use connectionName",
    );
  }
}

function checkSentinels(sentinels: unknown, name: unknown, role: unknown): void {
  if (!Array.isArray(sentinels) || sentinels.length === 0 || !sentinels.every(isSentinel))
    throw new TypeError('sentinels: is not a list of sentinels, each { host, port }');
  if (!isText(name))
    throw new TypeError('name: is missing: the name that the sentinels have for the primary');
  if (role !== undefined && role !== 'master')
    throw new TypeError(`role: ${formatForLog(role)} is not 'master': only the primary takes counters`);
}

/** With two places ioredis would silently use one of them. */
function refuseTogetherWith(place: string, others: Values): void {
  for (const [other, value] of Object.entries(others)) {
    if (isGiven(value))
      throw new TypeError(
        `${place} and ${other} cannot be used together: give { host, port }, { path } or { sentinels, name }`,
      );
  }
}

function readCluster(given: object): RedisClusterOptions {
  const { cluster, options } = valuesIn(given, CLUSTER_OPTION_NAMES);
  refuseUnknown(given, CLUSTER_OPTION_NAMES, placeInCluster);
  // a URL may contain a password, so it is never shown
  if (!Array.isArray(cluster) || cluster.length === 0 || !cluster.every(isNode))
    throw new TypeError(
      "cluster: is not a list of nodes, each { host, port }, a URL ('redis://host:6379') or a port",
    );
  const nodes = (cluster as RedisClusterOptions['cluster']).map(readNode);
  if (nodes.some(hasDatabase)) throw new TypeError(`cluster: ${CLUSTER_DB}`);
  if (options === undefined) return { cluster: nodes };
  if (typeof options !== 'object' || options === null)
    throw new TypeError("options: is not an object of options of ioredis' Cluster");
  return { cluster: nodes, options: readClusterClient(options) };
}

function readClusterClient(given: object): object {
  const options = valuesIn(given, CLUSTER_NAMES);
  refuseUnknown(given, CLUSTER_NAMES, placeInCluster, { place: 'options.' });
  checkKeyPrefix(options);
  const { redisOptions } = options;
  if (redisOptions === undefined) return options;
  if (typeof redisOptions !== 'object' || redisOptions === null)
    throw new TypeError("options.redisOptions: is not an object of options of ioredis' Redis");
  return { ...options, redisOptions: readNodes(redisOptions) };
}

function readNodes(given: object): Values {
  const place = 'options.redisOptions.';
  const options = valuesIn(given, SERVER_NAMES);
  refuseUnknown(given, SERVER_NAMES, placeInCluster, { place });
  for (const [name, why] of Object.entries(NOT_IN_CLUSTER))
    if (isGiven(options[name])) throw new TypeError(`${place}${name}: has no effect here: ${why}`);
  if (options['db'] !== undefined && options['db'] !== 0) throw new TypeError(`${place}db: ${CLUSTER_DB}`);
  return options;
}

/** ioredis copies what a node has for itself, and so would miss the getters of a class. */
function readNode<T>(node: T): T {
  if (typeof node !== 'object' || node === null) return node;
  return { ...node, ...valuesIn(node, SERVER_NAMES) };
}

/** Where an option belongs that was given in the wrong part of a Cluster's options. */
function placeInCluster(name: string): string | undefined {
  if (Object.hasOwn(NOT_IN_CLUSTER, name)) return NOT_IN_CLUSTER[name];
  if (CLUSTER_NAMES.has(name)) return 'it belongs in options';
  if (SERVER_NAMES.has(name)) return 'it belongs in options.redisOptions';
  return hintFor(name, CLUSTER_NAMES) ?? hintFor(name, SERVER_NAMES);
}

/** The values of known names, inherited ones and getters too. */
function valuesIn(given: object, known: ReadonlySet<string>): Values {
  const values: Record<string, unknown> = {};
  for (const name of known) {
    const value = (given as Values)[name];
    // undefined must not override the limiter's own default
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/**
 * Throws for unknown option names. An instance of a class may have extra properties, unless one looks like a typing error.
 */
function refuseUnknown(
  given: object,
  known: ReadonlySet<string>,
  hintOf: (name: string) => string | undefined,
  { place = '', isLenient = false }: { readonly place?: string; readonly isLenient?: boolean } = {},
): void {
  const isPlain = [null, Object.prototype].includes(Object.getPrototypeOf(given) as object | null);
  for (const name of propertiesOf(given)) {
    if (known.has(name)) continue;
    const hint = hintOf(name);
    if (hint !== undefined) throw new TypeError(`${place}${name}: is not known here: ${hint}`);
    if (isPlain && !isLenient)
      throw new TypeError(
        `${place}${name}: is not an option of ioredis 5.3 to 6.0; for one of a later version, give a client`,
      );
  }
}

/** Names of an object's own properties and of the getters of its classes. */
function propertiesOf(given: object): string[] {
  const names = Object.keys(given);
  let level = Object.getPrototypeOf(given) as object | null;
  while (level !== null && level !== Object.prototype) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (property.get !== undefined || typeof property.value !== 'function') names.push(name);
    level = Object.getPrototypeOf(level) as object | null;
  }
  return names;
}

function isSentinel(sentinel: unknown): boolean {
  return typeof sentinel === 'object' && isNode(sentinel);
}

function isNode(node: unknown): boolean {
  if (typeof node === 'string') return isUrl(node);
  if (typeof node === 'number') return isPort(node);
  const { host, port } = Object(node) as { readonly host?: unknown; readonly port?: unknown };
  return (host !== undefined || port !== undefined) && isText(host ?? '-') && isPort(port ?? 6379);
}

/** Whether the URL of a node has a database other than 0. */
function hasDatabase(node: unknown): boolean {
  return typeof node === 'string' && !/^\/?0*$/.test(new URL(node).pathname);
}

/** ioredis uses `null` for some options that are not set. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isPort(port: unknown): boolean {
  return wholeNumber(1, 65_535).test(port);
}

/** Empty braces are not a hash tag: the counters of one request would be in different slots. */
function checkKeyPrefix({ keyPrefix, redisOptions }: Values): void {
  const ofNodes = (Object(redisOptions) as { readonly keyPrefix?: unknown }).keyPrefix;
  // as ioredis reads it: an empty one is ignored
  // eslint-disable-next-line @typescript-eslint/prefer-nullish-coalescing
  const prefix = keyPrefix || (ofNodes ?? '');
  if (typeof prefix !== 'string') throw new TypeError(`keyPrefix: ${formatForLog(prefix)} is not a text`);
  const open = prefix.indexOf('{');
  if (open >= 0 && prefix[open + 1] === '}')
    throw new TypeError(
      `keyPrefix: ${formatForLog(prefix)} has empty braces, so that no two counters would share a slot`,
    );
}

/** Never shows the URL: it may contain a password. */
function checkUrl(text: string): void {
  const [, query] = /^\/[^?]*\??(.*)$/s.exec(text) ?? [];
  if (query !== undefined) {
    checkQuery(new URLSearchParams(query));
    return;
  }
  if (!isUrl(text))
    throw new TypeError(`the string is not ${REDIS_FORM}; percent-encode the password in a URL`);
  const { pathname, searchParams } = new URL(text);
  if (!/^\/?\d*$/.test(pathname))
    throw new TypeError('the path of the URL must be the number of a database, as in /0');
  checkQuery(searchParams);
  if (pathname.length > 1 && searchParams.has('db'))
    throw new TypeError('the URL names its database twice: in its path, and as db');
}

function checkQuery(query: URLSearchParams): void {
  for (const [name, value] of query) {
    if (!IN_URL.includes(name))
      throw new TypeError(
        `${formatForLog(name)} in the URL: a URL can only set ${IN_URL.join(', ')}; set other options in an object: { host, port, … }`,
      );
    if (name === 'db' && !/^\d+$/.test(value))
      throw new TypeError(`db in the URL: ${formatForLog(value)} is not the number of a database`);
  }
}

function isUrl(text: string): boolean {
  try {
    const { username, password } = new URL(text);
    decodeURIComponent(username + password);
    return /^rediss?:\/\/[^/]/.test(text);
  } catch {
    return false;
  }
}
