import type { EventEmitter } from 'node:events';
import type { Leases } from './held-leases.js';

/** The most leases that one connection holds: a client may choose the key of a counter, and send a new one with each message. */
export const MAX_HELD = 100;

/** A client of a gateway, of socket.io or ws. */
interface Client extends EventEmitter {
  /** ws only. */
  readonly readyState?: unknown;
  /** socket.io only. */
  readonly connected?: unknown;
}

/** Of ws: the connection is open, or not yet. */
const OPEN = 1;

const byClient = new WeakMap<object, Connection>();

/** Whether the end of a connection can be observed. */
export function isConnection(client: unknown): client is EventEmitter {
  return typeof (Object(client) as Partial<EventEmitter>).once === 'function';
}

/** The connection of a client. It is watched from the first call on: not all libraries say later that a client is gone. */
export function connectionOf(client: EventEmitter): Connection {
  const known = byClient.get(client);
  if (known !== undefined) return known;
  const connection = new Connection(client);
  byClient.set(client, connection);
  return connection;
}

/** What a connection holds until it closes, by the key of the counter. */
export class Connection {
  private readonly held = new Map<string, Leases>();
  /** Calls of the store that take leases for it now. */
  private readonly taking = new Map<string, Promise<unknown>>();
  private isClosed = false;

  constructor(private readonly client: Client) {
    const end = (): void => {
      this.isClosed = true;
      for (const leases of this.held.values()) leases.release();
      this.held.clear();
    };
    client.once('close', end);
    client.once('disconnect', end);
  }

  /** How many more leases it may take. */
  get free(): number {
    return MAX_HELD - this.held.size - this.taking.size;
  }

  /** Whether it has a lease of a counter already. Its next messages need no other. */
  holds(key: string): boolean {
    return this.held.has(key);
  }

  /** Resolves when earlier messages have taken, or have not got, the leases of these counters; `undefined` if none takes one now. */
  whileTaking(keys: readonly string[]): Promise<unknown> | undefined {
    const calls = keys.flatMap((key) => this.taking.get(key) ?? []);
    return calls.length === 0 ? undefined : Promise.all(calls);
  }

  /** @param answered settles when the store has answered the call that takes a lease of this counter */
  noteTaking(key: string, answered: Promise<unknown>): void {
    if (this.taking.has(key)) return;
    const end = (): void => {
      this.taking.delete(key);
    };
    this.taking.set(key, answered.then(end, end));
  }

  /** Releases the leases of a counter when the client leaves; at once if it is gone already, or has one of them already. */
  holdUntilClosed(key: string, leases: Leases): void {
    if (this.isGone() || this.held.has(key)) leases.release();
    else this.held.set(key, leases);
  }

  /** A message may still be handled after the end. */
  private isGone(): boolean {
    const { readyState, connected } = this.client;
    if (this.isClosed) return true;
    return typeof readyState === 'number' ? readyState > OPEN : connected === false;
  }
}
