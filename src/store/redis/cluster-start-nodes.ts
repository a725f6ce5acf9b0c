import { isDeepStrictEqual } from 'node:util';
import { checkParts } from './check-redis-url.js';
import { rejectUnsetVariables } from './check-unset-variables.js';
import { hintFor, SERVER_NAMES } from './option-names.js';
import { checkTypes } from './option-types.js';
import { isSet, type OptionValues, rejectUnknown, valuesIn } from './option-values.js';
import type { RedisClusterOptions } from './redis-options.js';

type Nodes = RedisClusterOptions['cluster'];

/** Options that all servers of a Cluster need, although a URL sets them for one. */
const SHARED = ['username', 'password', 'tls'] as const;

/**
 * Reads and checks the start nodes of a Cluster. ioredis copies only a node's own properties, and so would miss the getters of
 * a class.
 */
export function readNodes(nodes: Nodes): Nodes {
  return nodes.map((node, i) => {
    if (typeof node === 'string') checkNodeUrl(node, i);
    if (typeof node !== 'object') return node;
    const prefix = `cluster[${i}].`;
    rejectUnknown(node, SERVER_NAMES, (name) => hintFor(name, SERVER_NAMES), { prefix });
    const values = valuesIn(node, SERVER_NAMES);
    checkTypes(values, prefix);
    return { ...node, ...values };
  });
}

function checkNodeUrl(node: string, i: number): void {
  rejectUnsetVariables(node);
  const url = new URL(node);
  if (url.search !== '')
    throw new TypeError(
      `cluster[${i}]: the URL of a node cannot have options after ?; set them in options.redisOptions`,
    );
  checkParts(url);
}

/**
 * Finds what the start nodes say about the connection to any server of their Cluster. ioredis would use the user name and password of
 * a URL only for that node, not for the others that the cluster reports, and would connect to `rediss://` without TLS.
 * @param redisOptions the options for all servers
 * @returns these options; `undefined` if the nodes set none
 * @throws {TypeError} if they contradict each other
 */
export function sharedByNodes(nodes: Nodes, redisOptions: OptionValues): OptionValues | undefined {
  const shared: Record<string, unknown> = {};
  const [first, ...others] = nodes.map(optionsIn);
  for (const name of SHARED) {
    const value = first?.[name];
    if (!others.every((other) => isDeepStrictEqual(other[name], value)))
      throw new TypeError(
        `cluster: the nodes differ in ${name}, but all servers of a Cluster need the same; set it in options.redisOptions, and remove it from the nodes`,
      );
    if (!isSet(value)) continue;
    if (isSet(redisOptions[name]) && name !== 'tls' && redisOptions[name] !== value)
      throw new TypeError(
        `cluster: the nodes have another ${name} than options.redisOptions; remove one of the two`,
      );
    shared[name] = value;
  }
  return Object.keys(shared).length === 0 ? undefined : shared;
}

/** The options of a start node that concern all servers. */
function optionsIn(node: Nodes[number]): OptionValues {
  if (typeof node === 'object') return node;
  if (typeof node === 'number') return {};
  const { protocol, username, password } = new URL(node);
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
}
