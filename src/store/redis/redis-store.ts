import type { Check, CheckResult } from '../../core/check.js';
import { FreqLimitError, showError } from '../../core/errors.js';
import type { Store, StoreLog } from '../store.js';
import { consumeLua } from './lua.generated.js';
import { decodeReply, encodeArguments } from './redis-codec.js';
import { type Connection, connectionFor } from './redis-connection.js';
import type { RedisOption } from './redis-client.js';
import { Script } from './script.js';

const CONSUME = new Script(consumeLua);
const SILENT_MS = 10_000;

/** Counts in Redis: one script call for all the checks of a request. */
export class RedisStore implements Store {
  private opening: Promise<void> | undefined;
  private silentUntilMs = -Infinity;

  private constructor(
    private readonly connection: Connection,
    private readonly log: StoreLog,
  ) {}

  static async create(redis: RedisOption, timeoutMs: number, log: StoreLog): Promise<RedisStore> {
    return new RedisStore(await connectionFor(redis, timeoutMs, log), log);
  }

  consume(checks: readonly Check[]): Promise<CheckResult[]> {
    return this.ask(checks, true);
  }

  peek(checks: readonly Check[]): Promise<CheckResult[]> {
    return this.ask(checks, false);
  }

  reset(keys: readonly string[]): Promise<void> {
    return this.guarded(async (client) => {
      if (keys.length > 0) await client.del(...keys);
    });
  }

  open(): Promise<void> {
    this.opening ??= this.connection.open();
    return this.opening;
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private ask(checks: readonly Check[], charging: boolean): Promise<CheckResult[]> {
    const keys = checks.map((check) => check.key);
    const args = encodeArguments(checks, charging);
    return this.guarded(async (client) => decodeReply(checks, await CONSUME.run(client, keys, args)));
  }

  /** Turns whatever goes wrong into one kind of error. */
  private async guarded<T>(run: (client: Connection['client']) => Promise<T>): Promise<T> {
    try {
      await this.open();
      return await run(this.connection.client);
    } catch (error) {
      const message = `Redis gave no answer: ${showError(error)}`;
      this.tell(message);
      throw new FreqLimitError('FREQ_LIMIT_STORE_FAILED', message, { cause: error });
    }
  }

  /** A line for the operator: not one for each request, and none where the connection has told it already. */
  private tell(message: string): void {
    const nowMs = performance.now();
    if (this.connection.isLost || nowMs < this.silentUntilMs) return;
    this.silentUntilMs = nowMs + SILENT_MS;
    this.log.error(message);
  }
}
