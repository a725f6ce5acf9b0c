import { nodeAddress } from './node-address.js';
import { isSet } from './option-values.js';

/** Where a client connects to. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly family: number;
  /** A unix socket, instead of `host` and `port`. */
  readonly path?: string | undefined;
  readonly usesTls: boolean;
}

/** The options of a client that say where it connects to. */
interface PlaceOptions {
  readonly host?: string | null;
  readonly port?: number | null;
  readonly family?: number | null;
  readonly path?: string | null;
  readonly tls?: unknown;
  readonly sentinels?: readonly PlaceOptions[] | null;
  readonly sentinelTLS?: unknown;
  readonly enableTLSForSentinelMode?: boolean;
  readonly redisOptions?: PlaceOptions;
  readonly useSRVRecords?: boolean;
  readonly Connector?: unknown;
}

/** The parts of an ioredis client that say where it connects to. */
interface PlacedClient {
  readonly isCluster: boolean;
  readonly options?: object | undefined;
  /** The nodes that a Cluster client starts with; not public in ioredis. */
  readonly startupNodes?: readonly unknown[];
  readonly stream?: { readonly remoteAddress?: string; readonly remotePort?: number } | undefined;
}

const REDIS_PORT = 6_379;
const SENTINEL_PORT = 26_379;

/** Where a client connects to: its server, the start nodes of its Cluster, or its sentinels and the primary they named. */
export function endpointsOf(client: object): Endpoint[] {
  const { isCluster, options: given, startupNodes = [], stream } = client as PlacedClient;
  const options = (given ?? {}) as PlaceOptions;
  const { Connector, sentinels, useSRVRecords = false } = options;
  if (isSet(Connector) || useSRVRecords) return [];
  if (isCluster) return startupNodes.flatMap((node) => endpointsOfNode(node, options.redisOptions?.tls));
  if (sentinels === undefined || sentinels === null) return [endpointOf(options, options.tls)];
  const { remoteAddress, remotePort } = stream ?? {};
  const primary =
    remoteAddress === undefined || remotePort === undefined
      ? []
      : [endpointOf({ host: remoteAddress, port: remotePort }, options.enableTLSForSentinelMode === true)];
  return [
    ...primary,
    ...sentinels.map((sentinel) => endpointOf(sentinel, options.sentinelTLS, SENTINEL_PORT)),
  ];
}

function endpointOf(
  { host, port, family, path }: PlaceOptions,
  tls: unknown,
  defaultPort = REDIS_PORT,
): Endpoint {
  return {
    host: host ?? 'localhost',
    port: port ?? defaultPort,
    family: family ?? 0,
    path: path ?? undefined,
    usesTls: Boolean(tls),
  };
}

/** Where a start node of a Cluster is, if that can be read. */
function endpointsOfNode(node: unknown, tls: unknown): Endpoint[] {
  const address = nodeAddress(node, REDIS_PORT);
  const { family } = Object(node) as PlaceOptions;
  return address === undefined ? [] : [endpointOf({ ...address, family: family ?? null }, tls)];
}
