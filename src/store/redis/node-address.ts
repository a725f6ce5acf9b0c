/** Where a server is. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

const LOCALHOST = '127.0.0.1';

/**
 * The address of a node of a Cluster or of a sentinel, as ioredis reads it: `{ host, port }`, a URL, `host:port`, or a port.
 * @returns `undefined` for anything else; a client that was passed may have it
 */
export function nodeAddress(node: unknown, defaultPort: number): NodeAddress | undefined {
  if (typeof node === 'number') return { host: LOCALHOST, port: node };
  if (typeof node === 'string') return addressIn(node, defaultPort);
  const { host, port } = Object(node) as { readonly host?: unknown; readonly port?: unknown };
  return { host: typeof host === 'string' ? host : LOCALHOST, port: Number(port ?? defaultPort) };
}

function addressIn(text: string, defaultPort: number): NodeAddress | undefined {
  if (/^\d+$/.test(text)) return { host: LOCALHOST, port: Number(text) };
  const url = text.includes('//') ? text : `redis://${text}`;
  if (!URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
}
