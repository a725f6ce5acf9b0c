import calculateSlot from 'cluster-key-slot';
import type { RedisClient } from './redis-option.js';

/** The name of the server if there is only one, and of the connection as a whole. */
export const THE_SERVER = '';
/** The name for slots that no server has. */
const NO_SERVER = 'none';
const SLOTS = 16_384;

/** Which server has which key, as far as the client knows. */
export class Servers {
  constructor(private readonly client: RedisClient) {}

  get isCluster(): boolean {
    return this.client.isCluster;
  }

  /** The primary of a key. */
  of(key: string): string {
    const { slots, options } = this.client;
    if (slots === undefined) return THE_SERVER;
    const { keyPrefix = '' } = (options ?? {}) as { readonly keyPrefix?: string };
    return slots[calculateSlot(keyPrefix + key)]?.[0] ?? NO_SERVER;
  }

  /** All servers that have a slot. */
  all(): string[] {
    const { slots } = this.client;
    if (slots === undefined) return [THE_SERVER];
    const found = new Set<string>();
    for (const [primary] of slots.filter((servers) => servers !== undefined)) if (primary) found.add(primary);
    return [...found];
  }

  /** Whether a server still has a slot. */
  has(server: string): boolean {
    if (server === THE_SERVER) return true;
    const { slots = [] } = this.client;
    for (let slot = 0; slot < SLOTS; slot++) if ((slots[slot]?.[0] ?? NO_SERVER) === server) return true;
    return false;
  }

  /** A key that lies on a server, made from one of many hash tags; `undefined` if the server has no slot. */
  keyOn(server: string, keyOf: (tag: number) => string): string | undefined {
    if (this.isCluster && server === THE_SERVER) return undefined;
    for (let tag = 0; tag < SLOTS; tag++) {
      const key = keyOf(tag);
      if (this.of(key) === server) return key;
    }
    return undefined;
  }
}
