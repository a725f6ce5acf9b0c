import type { EventEmitter } from 'node:events';

const waiting = new WeakMap<object, (() => void)[]>();

/**
 * Calls back when an HTTP response has been handed over whole; never for one whose client went away before.
 * Any number for one response share a listener.
 * @param response Express's, or Fastify's reply
 */
export function onFinish(response: unknown, callback: () => void): void {
  const { raw = response } = Object(response) as { readonly raw?: unknown };
  const emitter = Object(raw) as Partial<EventEmitter>;
  if (typeof emitter.once !== 'function') return;
  const callbacks = waiting.get(emitter);
  if (callbacks !== undefined) {
    callbacks.push(callback);
    return;
  }
  const first = [callback];
  waiting.set(emitter, first);
  emitter.once('finish', () => {
    waiting.delete(emitter);
    for (const one of first) one();
  });
}
