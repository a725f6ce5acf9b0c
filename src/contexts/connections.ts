import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/** Node publishes every connection that a server of this process accepts. */
const ACCEPTED = 'net.server.socket';

interface Accepted {
  readonly socket: Socket & { readonly server?: EventEmitter | null };
}

/** An HTTP/2 stream. Its request reads the connection's properties from it once the connection is gone. */
interface Stream {
  readonly session?: { readonly socket: { readonly remoteAddress?: string | undefined } } | undefined;
  remoteAddress?: string | undefined;
}

const watched = new WeakSet<EventEmitter>();

/**
 * Reads the address of each connection when it opens: Node remembers an address that was read once, and has none for a
 * connection that is gone before. Without it a client that resets its connection while its request waits for an earlier
 * guard would have no address. Covers all servers of the process, and costs nothing per request of HTTP/1.
 * @param server the application's own, whose connections may be handed over by another process
 * @returns ends it
 */
export function rememberAddresses(server: EventEmitter | undefined): () => void {
  subscribe(ACCEPTED, onAccepted);
  if (server !== undefined) watch(server);
  return () => {
    unsubscribe(ACCEPTED, onAccepted);
  };
}

function onAccepted(message: unknown): void {
  const { socket } = message as Accepted;
  read(socket);
  if (socket.server) watch(socket.server);
}

/** An encrypted connection is a socket of its own, which is there after the handshake. */
function watch(server: EventEmitter): void {
  if (watched.has(server)) return;
  watched.add(server);
  server.prependListener('connection', read);
  server.prependListener('secureConnection', read);
  server.prependListener('stream', readStream);
}

function read(socket: Socket): void {
  Reflect.get(socket, 'remoteAddress');
}

function readStream(stream: Stream): void {
  stream.remoteAddress = stream.session?.socket.remoteAddress;
}
