import type { EventEmitter } from 'node:events';
import type { Leases } from './held-leases.js';

/** A client of a gateway, of socket.io or ws. */
interface Client extends EventEmitter {
  /** ws only. */
  readonly readyState?: unknown;
  /** socket.io only. */
  readonly connected?: unknown;
}

/** Of ws: the connection is open, or not yet. */
const OPEN = 1;

/** The leases that connections hold, by the key of the counter. */
const byClient = new WeakMap<object, Map<string, Leases>>();

/** Connections that are closed: a message may still be handled, and not all libraries tell then. */
const closed = new WeakSet<object>();

/** Whether the end of a connection can be observed. */
export function isConnection(client: unknown): client is EventEmitter {
  return typeof (Object(client) as Partial<EventEmitter>).once === 'function';
}

/** Whether a connection holds a lease of a counter already. Its next messages need no other. */
export function holdsLease(client: unknown, key: string): boolean {
  return byClient.get(Object(client) as object)?.has(key) === true;
}

/** Releases the leases of a counter when the connection closes; at once if it is closed already, or holds one already. */
export function releaseAtDisconnect(client: EventEmitter, key: string, leases: Leases): void {
  const held = byClient.get(client) ?? watch(client);
  if (isGone(client) || held.has(key)) leases.release();
  else held.set(key, leases);
}

function isGone(client: Client): boolean {
  const { readyState, connected } = client;
  if (closed.has(client)) return true;
  return typeof readyState === 'number' ? readyState > OPEN : connected === false;
}

function watch(client: EventEmitter): Map<string, Leases> {
  const held = new Map<string, Leases>();
  byClient.set(client, held);
  const end = (): void => {
    closed.add(client);
    for (const leases of held.values()) leases.release();
    held.clear();
  };
  client.once('close', end);
  client.once('disconnect', end);
  return held;
}
