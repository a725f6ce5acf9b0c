import { createHash } from 'node:crypto';
import { showError } from '../../core/errors.js';
import type { RedisClient } from './redis-client.js';

/** A Lua script that a server runs by its SHA-1. Registers nothing on the client, which may be shared with others. */
export class Script {
  private readonly sha1: string;

  constructor(private readonly source: string) {
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }

  /**
   * Runs the script. A server that does not know it (a new one, a restart, a failover, SCRIPT FLUSH, eviction) answers
   * NOSCRIPT and has run nothing, so the script goes again as a whole, which also makes it known. No other error
   * tells that nothing was counted, so none other is a reason to ask again.
   */
  async run(client: RedisClient, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await client.evalsha(this.sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!showError(error).startsWith('NOSCRIPT')) throw error;
      return client.eval(this.source, keys.length, ...keys, ...args);
    }
  }
}
