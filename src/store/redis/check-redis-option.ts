import { show } from '../../core/errors.js';
import { COUNT, wholeNumber } from '../../core/forms.js';
import { CLUSTER_NAMES, hintFor, SERVER_NAMES } from './option-names.js';
import { isClient, isClusterOption, type RedisClient, type RedisOption } from './redis-client.js';
import type { RedisClusterOptions, RedisConnectionOptions } from './redis-options.js';

type Values = Readonly<Record<string, unknown>>;

const REDIS_FORM =
  "a URL ('redis://host:6379', 'rediss://…'), ioredis options with host, port, path or sentinels, { cluster: [nodes], options }, or an ioredis client";

/** What a URL can say after `?`: ioredis reads all of it as text, and the text `false` is true to it. */
const IN_URL = ['db', 'family', 'keyPrefix', 'connectionName', 'clientInfoTag', 'username', 'password'];
/** What `{ cluster: [nodes], options }` is made of. */
const BESIDE_CLUSTER = new Set(['cluster', 'options']);
const PLACES = ['host', 'port', 'path', 'sentinels', 'Connector'];
/** What names a server, and so has nothing to say in a Cluster. */
const NOT_IN_CLUSTER: Readonly<Record<string, string>> = {
  host: 'cluster names the nodes',
  port: 'cluster names the nodes',
  path: 'cluster names the nodes',
  sentinels: 'a Cluster has no sentinels',
  name: 'a Cluster has no sentinels',
  role: 'a Cluster has no sentinels',
};
const CLUSTER_DB =
  'a Cluster keeps the counters in database 0: leave db out, and tell applications apart by namespace';

/**
 * Reads the option `redis`: every value once, also through getters, so that what is checked is what connects.
 * @throws {TypeError} naming the option and the right form where it cannot lead to a Redis; passwords are never shown
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
    throw new TypeError(`${show(redis)} is not ${REDIS_FORM}`);
  if ('sendCommand' in redis) throw new TypeError(`a client of another library is not ${REDIS_FORM}`);
  return isClusterOption(redis) ? readCluster(redis) : readServer(redis);
}

function checkClient({ status, isCluster, options }: RedisClient): void {
  if (typeof (status as unknown) !== 'string')
    throw new TypeError(
      'the client has no status, so it is not a client of ioredis: the limiter sends commands only while status is ' +
        "'ready'. Give a Redis or Cluster of ioredis; in tests leave redis out, or use nestjs-freq-limit/testing",
    );
  if (!isCluster) return;
  checkKeyPrefix((options ?? {}) as Values);
  const { redisOptions } = (options ?? {}) as { readonly redisOptions?: { readonly db?: unknown } };
  if (Number(redisOptions?.db ?? 0) !== 0) throw new TypeError(`redisOptions.db: ${CLUSTER_DB}`);
}

function readServer(given: object): RedisConnectionOptions {
  const options = valuesIn(given, SERVER_NAMES);
  const hasPlace = PLACES.some((place) => isGiven(options[place]));
  // what a connector of the application's own reads, it alone knows; what names no place at all has an error of its own
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
  if (!hasPlace) throw new TypeError(`${show(given)} is not ${REDIS_FORM}`);
  checkPlace(options);
  return options;
}

function checkPlace({ host, port, path, db, sentinels, name, role }: Values): void {
  if (host !== undefined && !isText(host))
    throw new TypeError(`host: ${show(host)} is not a name or an address`);
  if (port !== undefined && !isPort(port))
    throw new TypeError(`port: ${show(port)} is not a port, 1 to 65535`);
  if (isGiven(path) && !isText(path))
    throw new TypeError(`path: ${show(path)} is not the path of a unix socket`);
  if (db !== undefined && !COUNT.fits(db)) throw new TypeError(`db: ${show(db)} is not ${COUNT.words}`);
  if (isGiven(path)) refuseBeside('path', { host, port, sentinels });
  if (isGiven(sentinels)) {
    refuseBeside('sentinels', { host, port });
    checkSentinels(sentinels, name, role);
  } else if (isGiven(name)) {
    throw new TypeError(
      "name: is the primary's name among sentinels, and there are none; a connection's own name is connectionName",
    );
  }
}

function checkSentinels(sentinels: unknown, name: unknown, role: unknown): void {
  if (!Array.isArray(sentinels) || sentinels.length === 0 || !sentinels.every(isSentinel))
    throw new TypeError('sentinels: is not a list of sentinels, each { host, port }');
  if (!isText(name)) throw new TypeError("name: is missing: the primary's name among the sentinels");
  if (role !== undefined && role !== 'master')
    throw new TypeError(`role: ${show(role)} is not 'master': only the primary takes counters`);
}

/** Of two places ioredis would take one without a word. */
function refuseBeside(place: string, others: Values): void {
  for (const [other, value] of Object.entries(others)) {
    if (isGiven(value))
      throw new TypeError(
        `${place} and ${other} are two places: give one, { host, port }, { path } or { sentinels, name }`,
      );
  }
}

function readCluster(given: object): RedisClusterOptions {
  const { cluster, options } = valuesIn(given, BESIDE_CLUSTER);
  refuseUnknown(given, BESIDE_CLUSTER, placeInCluster);
  // a text may hold a password, and is never shown
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
    if (isGiven(options[name])) throw new TypeError(`${place}${name}: has no effect there: ${why}`);
  if (options['db'] !== undefined && options['db'] !== 0) throw new TypeError(`${place}db: ${CLUSTER_DB}`);
  return options;
}

/** ioredis copies what a node has for itself, and so would miss the getters of a class. */
function readNode<T>(node: T): T {
  if (typeof node !== 'object' || node === null) return node;
  return { ...node, ...valuesIn(node, SERVER_NAMES) };
}

/** Where a name belongs that is given at another place of a Cluster's options. */
function placeInCluster(name: string): string | undefined {
  if (Object.hasOwn(NOT_IN_CLUSTER, name)) return NOT_IN_CLUSTER[name];
  if (CLUSTER_NAMES.has(name)) return 'it belongs into options';
  if (SERVER_NAMES.has(name)) return 'it belongs into options.redisOptions';
  return hintFor(name, CLUSTER_NAMES) ?? hintFor(name, SERVER_NAMES);
}

/** The values of known names, inherited ones and getters too. */
function valuesIn(given: object, known: ReadonlySet<string>): Values {
  const values: Record<string, unknown> = {};
  for (const name of known) {
    const value = (given as Values)[name];
    // as good as not given: it must not take away what a limiter needs
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/**
 * Refuses names that are not known. An instance of a class may have some for itself, but none that looks like a typing
 * error.
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

/** Names of an object's own properties and of its classes' getters. */
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

/** Whether the URL of a node names another database than 0. */
function hasDatabase(node: unknown): boolean {
  return typeof node === 'string' && !/^\/?0*$/.test(new URL(node).pathname);
}

/** ioredis has `null` for some of what is not given. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isPort(port: unknown): boolean {
  return wholeNumber(1, 65_535).fits(port);
}

/** Empty braces are no hash tag: the counters of one request would lie anywhere. */
function checkKeyPrefix({ keyPrefix, redisOptions }: Values): void {
  const ofNodes = (Object(redisOptions) as { readonly keyPrefix?: unknown }).keyPrefix;
  // as ioredis reads it: one that is empty gives way
  // eslint-disable-next-line @typescript-eslint/prefer-nullish-coalescing
  const prefix = keyPrefix || (ofNodes ?? '');
  if (typeof prefix !== 'string') throw new TypeError(`keyPrefix: ${show(prefix)} is not a text`);
  const open = prefix.indexOf('{');
  if (open >= 0 && prefix[open + 1] === '}')
    throw new TypeError(
      `keyPrefix: ${show(prefix)} has empty braces, with which no two counters share a slot`,
    );
}

/** Never shows the text: it may hold a password. */
function checkUrl(text: string): void {
  const [, query] = /^\/[^?]*\??(.*)$/s.exec(text) ?? [];
  if (query !== undefined) {
    checkQuery(new URLSearchParams(query));
    return;
  }
  if (!isUrl(text))
    throw new TypeError(`the text given is not ${REDIS_FORM}; a password in it is percent-encoded`);
  const { pathname, searchParams } = new URL(text);
  if (!/^\/?\d*$/.test(pathname))
    throw new TypeError('the path of the URL is the number of a database, as in /0');
  checkQuery(searchParams);
  if (pathname.length > 1 && searchParams.has('db'))
    throw new TypeError('the URL names its database twice: in its path, and as db');
}

function checkQuery(query: URLSearchParams): void {
  for (const [name, value] of query) {
    if (!IN_URL.includes(name))
      throw new TypeError(
        `${show(name)} in the URL: a URL can say ${IN_URL.join(', ')}; give the rest as options: { host, port, … }`,
      );
    if (name === 'db' && !/^\d+$/.test(value))
      throw new TypeError(`db in the URL: ${show(value)} is not the number of a database`);
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
