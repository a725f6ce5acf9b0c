import type { Check, CheckResult } from '../../core/check.js';
import { FreqLimitError, showError } from '../../core/errors.js';
import type { Store, StoreLog } from '../store.js';
import { Coalescer } from './coalescer.js';
import { consumeLua } from './lua.generated.js';
import type { RedisOption } from './redis-client.js';
import type { Batch } from './redis-codec.js';
import { type Connection, connectionFor } from './redis-connection.js';
import { Script } from './script.js';

const CONSUME = new Script(consumeLua);
const SILENT_MS = 10_000;
const MOST_TROUBLES = 20;

export interface RedisStoreOptions {
  readonly redis: RedisOption;
  readonly timeoutMs: number;
  /** Whether the checks of several requests may share a call. */
  readonly coalesce: boolean;
}

/** Counts in Redis: one script call for all the checks of a request, and under load for those of many requests. */
export class RedisStore implements Store {
  private readonly coalescer: Coalescer;
  private opening: Promise<void> | undefined;
  private isOpen = false;
  private readonly silentUntilMs = new Map<string, number>();

  private constructor(
    private readonly connection: Connection,
    coalesce: boolean,
    private readonly log: StoreLog,
  ) {
    this.coalescer = new Coalescer((batches) => {
      this.sendAll(batches);
    }, coalesce);
  }

  static async create({ redis, timeoutMs, coalesce }: RedisStoreOptions, log: StoreLog): Promise<RedisStore> {
    return new RedisStore(await connectionFor(redis, timeoutMs, log), coalesce, log);
  }

  consume(checks: readonly Check[]): Promise<CheckResult[]> {
    return this.coalescer.ask(checks, true);
  }

  peek(checks: readonly Check[]): Promise<CheckResult[]> {
    return this.coalescer.ask(checks, false);
  }

  async reset(keys: readonly string[]): Promise<void> {
    try {
      await this.open();
      if (keys.length > 0) await this.connection.client.del(...keys);
    } catch (error) {
      throw this.failure(error);
    }
  }

  async open(): Promise<void> {
    this.opening ??= this.connection.open();
    await this.opening;
    this.isOpen = true;
  }

  close(): Promise<void> {
    this.coalescer.flush();
    return this.connection.close();
  }

  /** Several calls leave by one write: it is dearer than what is written, for this process and for the server. */
  private sendAll(batches: readonly Batch[]): void {
    const stream = batches.length > 1 ? this.connection.client.stream : undefined;
    stream?.cork();
    for (const batch of batches) void this.send(batch);
    stream?.uncork();
  }

  private async send(batch: Batch): Promise<void> {
    try {
      if (!this.isOpen) await this.open();
      const { keys, args } = batch.encode();
      batch.answer(await CONSUME.run(this.connection.client, keys, args), (error) => this.failure(error));
    } catch (error) {
      batch.fail(this.failure(error));
    }
  }

  /** Whatever went wrong as one kind of error, which the operator hears of too. */
  private failure(error: unknown): FreqLimitError {
    const message = `Redis gave no answer: ${showError(error)}`;
    this.tell(message);
    return new FreqLimitError('FREQ_LIMIT_STORE_FAILED', message, { cause: error });
  }

  /** A line for the operator: one trouble is told once in a while, and none that the connection has told already. */
  private tell(message: string): void {
    const nowMs = performance.now();
    if (this.connection.isLost || nowMs < (this.silentUntilMs.get(message) ?? 0)) return;
    if (this.silentUntilMs.size >= MOST_TROUBLES) this.silentUntilMs.clear();
    this.silentUntilMs.set(message, nowMs + SILENT_MS);
    this.log.error(message);
  }
}
