import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/** On this channel Node publishes every connection that a server of this process accepts. */
const ACCEPTED = 'net.server.socket';

interface Accepted {
  readonly socket: Socket & { readonly server?: EventEmitter | null };
}

/** An HTTP/2 stream. Once the connection is closed, its request reads properties such as the address from the stream. */
interface Stream {
  readonly session?: { readonly socket: { readonly remoteAddress?: string | undefined } } | undefined;
  remoteAddress?: string | undefined;
}

const watched = new WeakSet<EventEmitter>();

/**
 * Reads the address of each connection when it opens, so that Node remembers it after the connection is closed. Without
 * this, a client that resets its connection while its request waits for an earlier guard would have no address. Covers all
 * servers of the process, and costs nothing per HTTP/1 request.
 * @param server the application's own server; another process may pass it connections
 * @returns a function that stops it
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

/** A TLS connection has its own socket, which exists after the handshake. */
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
