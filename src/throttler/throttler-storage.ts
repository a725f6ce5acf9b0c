import { ServiceUnavailableException } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { CheckResult } from '../core/check.js';
import { isFreqLimitError } from '../core/errors.js';
import type { CounterCheck, FreqLimitService } from '../freq-limit.service.js';
import { type IncrementArguments, type Key, readIncrementArguments, readKey } from './increment-arguments.js';

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * Counts the visits of `@nestjs/throttler` where `FreqLimitModule` counts: in Redis, or in this process.
 *
 * The throttler's decorators, options and guard stay as they are. Two things differ from its own storage: a window opens
 * at the first visit and ends as a whole, where each hit had an end of its own; and what is denied by the window alone
 * (`blockDuration: 0`) waits for that end. A block belongs to its length: one that was opened for a minute is not seen by
 * a visit whose `blockDuration` is another.
 *
 * @example
 * ThrottlerModule.forRootAsync({
 *   inject: [FreqLimitService],
 *   useFactory: (limits: FreqLimitService) => ({
 *     throttlers: [{ ttl: 60_000, limit: 10 }],
 *     storage: new FreqLimitThrottlerStorage(limits),
 *   }),
 * })
 */
export class FreqLimitThrottlerStorage implements ThrottlerStorage {
  constructor(private readonly limits: Pick<FreqLimitService, 'consume' | 'reset'>) {}

  /**
   * Counts a visit, unless it is blocked. One question to the store; two or three for a visit that opens a block.
   * @param ttl length of the window in milliseconds, above 0
   * @param limit visits that pass in a window
   * @param blockDuration milliseconds a caller is refused after his first visit too many; 0 or less for no longer than his window
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` for a number or a key that is none; nothing is counted
   * @throws {ServiceUnavailableException} when the store gives no answer and the module's `onStoreError` is `'deny'`
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const asked = readIncrementArguments(ttl, limit, blockDuration);
    try {
      return await this.visit(readKey(throttlerName, key), asked);
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      throw new ServiceUnavailableException('The request limit cannot be checked at the moment', {
        cause: error,
      });
    }
  }

  private async visit(key: Key, asked: IncrementArguments): Promise<ThrottlerRecord> {
    const hits = {
      name: 'throttler',
      key,
      window: ms(asked.windowMs),
      limit: asked.limit,
      countDenied: false,
    };
    // an open block denies the look at it, and then, all or none, the hit is not counted
    const look = asked.blockMs === undefined ? [] : [{ ...blockOf(key, asked.blockMs), limit: 0, cost: 0 }];
    const { allowed, results } = await this.limits.consume([hits, ...look]);
    const [ofHits, ofBlock] = results as [CheckResult, CheckResult?];
    if (allowed) return toRecord(ofHits, 0);
    if (asked.blockMs === undefined) return toRecord(ofHits, ofHits.retryAfterMs);
    if (ofBlock?.allowed === false) return toRecord(ofHits, ofBlock.retryAfterMs);
    const isOutlasting = asked.windowMs > asked.blockMs;
    const waitMs = await this.open(blockOf(key, asked.blockMs), isOutlasting ? hits : undefined);
    return toRecord(ofHits, waitMs || ofHits.retryAfterMs);
  }

  /**
   * Opens a block, unless a visit beside this one has.
   * @param outlasting the hits, where their window would outlast the block and deny again what comes after it
   * @returns how long the block goes on, in ms; 0 where there was no store to open it
   */
  private async open(block: CounterCheck, outlasting: CounterCheck | undefined): Promise<number> {
    const { allowed, results } = await this.limits.consume({ ...block, limit: 1 });
    const [{ resetAfterMs, retryAfterMs }] = results as [CheckResult];
    if (allowed && outlasting !== undefined) await this.forget(outlasting);
    return allowed ? resetAfterMs : retryAfterMs;
  }

  private async forget(hits: CounterCheck): Promise<void> {
    try {
      await this.limits.reset(hits);
    } catch (error) {
      // the visit is denied, whether its hits could be forgotten or not
      if (!isStoreFailure(error)) throw error;
    }
  }
}

function blockOf(key: Key, blockMs: number): CounterCheck {
  return { name: 'throttler-block', key, window: ms(blockMs), countDenied: false };
}

function ms(length: number): `${number}ms` {
  return `${length}ms`;
}

/** The throttler wants seconds, and no visit to be told to come back too early. */
function toRecord({ used, limit, resetAfterMs }: CheckResult, waitMs: number): ThrottlerRecord {
  const isBlocked = waitMs > 0;
  return {
    totalHits: isBlocked ? limit + 1 : used,
    timeToExpire: Math.ceil(resetAfterMs / 1_000),
    isBlocked,
    timeToBlockExpire: Math.ceil(waitMs / 1_000),
  };
}

function isStoreFailure(error: unknown): boolean {
  return isFreqLimitError(error) && error.code === 'FREQ_LIMIT_STORE_FAILED';
}
