import type { EventEmitter } from 'node:events';

/** The parts of Node's response that tell how it ended. */
interface NodeResponse extends EventEmitter {
  readonly destroyed?: boolean;
  readonly writableFinished?: boolean;
  readonly req?: { readonly socket?: { readonly destroyed?: boolean } | null };
  /** HTTP/2 only: these responses have no such properties themselves. */
  readonly stream?: { readonly aborted?: boolean } | undefined;
}

type Callbacks = WeakMap<object, (() => void)[]>;

const onFinish: Callbacks = new WeakMap();
const onClose: Callbacks = new WeakMap();

/**
 * Calls back when an HTTP response has been handed to the system completely. If the client disconnects before, it is not
 * called, or on HTTP/2 it is called while {@link isAborted} returns true. All callbacks of a response share one listener.
 * @param response Express's response or Fastify's reply; anything else is ignored
 */
export function onResponseEnd(response: unknown, callback: () => void): void {
  listenOnce(response, 'finish', onFinish, callback);
}

/** Calls back when an HTTP response is closed: after its end, or because the client disconnected before. */
export function onResponseClose(response: unknown, callback: () => void): void {
  listenOnce(response, 'close', onClose, callback);
}

function listenOnce(response: unknown, event: string, callbacksOf: Callbacks, callback: () => void): void {
  const raw = rawOf(response);
  if (typeof raw.once !== 'function') return;
  const callbacks = callbacksOf.get(raw);
  if (callbacks !== undefined) {
    callbacks.push(callback);
    return;
  }
  const first = [callback];
  callbacksOf.set(raw, first);
  raw.once(event, () => {
    callbacksOf.delete(raw);
    for (const one of first) one();
  });
}

/** Whether the client disconnected before it had the complete response. */
export function isAborted(response: unknown): boolean {
  const { destroyed, writableFinished, req, stream } = rawOf(response);
  // a response to a pipelined request waits for its turn without the socket, and does not learn that it was closed
  const isGone = destroyed === true || req?.socket?.destroyed === true;
  return (isGone && writableFinished === false) || stream?.aborted === true;
}

/** Node's response: Fastify's reply contains it, Express's response is it. */
export function rawOf(response: unknown): Partial<NodeResponse> {
  const { raw = response } = Object(response) as { readonly raw?: unknown };
  return Object(raw) as Partial<NodeResponse>;
}
