import type { EventEmitter } from 'node:events';

/** A response of Node, as far as it tells what has become of it. */
interface NodeResponse extends EventEmitter {
  readonly destroyed?: boolean;
  readonly writableFinished?: boolean;
  readonly req?: { readonly socket?: { readonly destroyed?: boolean } | null };
  /** Of HTTP/2, whose responses say nothing themselves. */
  readonly stream?: { readonly aborted?: boolean } | undefined;
}

const waiting = new WeakMap<object, (() => void)[]>();

/**
 * Calls back when an HTTP response has been handed over whole. For one whose client went away before it is never
 * called, or on HTTP/2 when `isCut` says so. Any number for one response share a listener.
 * @param response Express's, or Fastify's reply
 */
export function onResponseEnd(response: unknown, callback: () => void): void {
  const raw = rawOf(response);
  if (typeof raw.once !== 'function') return;
  const callbacks = waiting.get(raw);
  if (callbacks !== undefined) {
    callbacks.push(callback);
    return;
  }
  const first = [callback];
  waiting.set(raw, first);
  raw.once('finish', () => {
    waiting.delete(raw);
    for (const one of first) one();
  });
}

/** Whether the client went away before it had its answer. */
export function isAborted(response: unknown): boolean {
  const { destroyed, writableFinished, req, stream } = rawOf(response);
  // the answer to a pipelined request waits for its turn without the socket, and does not hear of its end
  const isGone = destroyed === true || req?.socket?.destroyed === true;
  return (isGone && writableFinished === false) || stream?.aborted === true;
}

/** Fastify's reply has it, Express's response is it. */
function rawOf(response: unknown): Partial<NodeResponse> {
  const { raw = response } = Object(response) as { readonly raw?: unknown };
  return Object(raw) as Partial<NodeResponse>;
}
