import type { EventEmitter } from 'node:events';
import { rawOf } from '../decisions/response-end.js';

type Callback = () => void;

/** The parts of Node's response, of its connection and of its HTTP/2 stream that tell that it is over. */
interface NodeResponse extends EventEmitter {
  readonly destroyed?: boolean;
  readonly writableFinished?: boolean;
  readonly req?: { readonly socket?: Connection | null } | null;
  readonly stream?: { readonly destroyed?: boolean } | undefined;
}

type Connection = Partial<EventEmitter> & { readonly destroyed?: boolean };

const byResponse = new WeakMap<object, Set<Callback>>();
const bySocket = new WeakMap<object, Set<Callback>>();

/** Whether the end of a response can be observed. */
export function canEnd(response: unknown): boolean {
  return typeof rawOf(response).once === 'function';
}

/**
 * Calls back once when an HTTP response is complete, or its client is gone; at once if it is over already. All callbacks of a
 * response share its listeners.
 * @param response Express's response or Fastify's reply
 */
export function onAnswerEnd(response: unknown, callback: Callback): void {
  const raw = rawOf(response) as NodeResponse;
  if (isOver(raw)) callback();
  else (byResponse.get(raw) ?? watch(raw)).add(callback);
}

function isOver({ destroyed, writableFinished, req, stream }: NodeResponse): boolean {
  if (destroyed === true || writableFinished === true) return true;
  return stream === undefined ? req?.socket?.destroyed === true : stream.destroyed === true;
}

function watch(response: NodeResponse): Set<Callback> {
  const callbacks = new Set<Callback>();
  byResponse.set(response, callbacks);
  const stopWatchingSocket = onSocketClose(response, end);
  function end(): void {
    stopWatchingSocket();
    byResponse.delete(response);
    for (const one of callbacks) one();
    callbacks.clear();
  }
  response.once('finish', end);
  response.once('close', end);
  return callbacks;
}

/**
 * A response to a pipelined request waits for its turn without the socket, and does not learn that it was closed. All
 * responses of a connection share one listener.
 * @returns a function that stops it
 */
function onSocketClose({ req, stream }: NodeResponse, callback: Callback): Callback {
  const socket = req?.socket;
  // an HTTP/2 stream has its own end
  if (stream !== undefined || typeof socket?.once !== 'function') return () => undefined;
  let callbacks = bySocket.get(socket);
  if (callbacks === undefined) {
    const added = (callbacks = new Set());
    bySocket.set(socket, added);
    socket.once('close', () => {
      for (const one of [...added]) one();
    });
  }
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}
