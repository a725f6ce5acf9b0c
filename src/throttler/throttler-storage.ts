import { ServiceUnavailableException } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { STORE_FAILED_MESSAGE } from '../answers/error-body.js';
import type { CheckResult } from '../core/check.js';
import { formatForLog, invalidOptions, isFreqLimitError } from '../core/errors.js';
import type { FreqLimitService } from '../freq-limit.service.js';
import type { WindowCheck } from '../rules/service-check-types.js';
import { type IncrementArguments, type Key, readIncrementArguments, readKey } from './increment-arguments.js';

/** What does not depend on the defaults of the module. */
const FIXED = { algorithm: 'fixed-window', countDenied: false } as const;

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * A storage for `@nestjs/throttler` 6.4 and later that counts where `FreqLimitModule` counts: in Redis, or in this process.
 *
 * The throttler's decorators, options and guard stay as they are. It differs from the throttler's own storage in two ways:
 *
 * - Windows are fixed: all hits of a window expire together. In the throttler's own storage each hit expires by itself. A
 *   client without a block (`blockDuration: 0`) waits until its window ends.
 * - A block applies only to its own `blockDuration`: a handler with another duration does not see it.
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
  /**
   * @param limits the `FreqLimitService` of the application
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` if it is missing, as without `inject`
   */
  constructor(private readonly limits: Pick<FreqLimitService, 'consume' | 'reset'>) {
    const { consume } = Object(limits) as { readonly consume?: unknown };
    if (typeof consume !== 'function') {
      throw invalidOptions(
        `FreqLimitThrottlerStorage: ${formatForLog(limits)} is not a FreqLimitService; write inject: [FreqLimitService] ` +
          'next to useFactory, and pass its first parameter',
      );
    }
  }

  /**
   * Counts a request, unless the client is blocked. Calls the store once; two or three times if a block begins.
   * @param key what the throttler counts by, not empty
   * @param ttl length of the window in milliseconds, above 0
   * @param limit requests that pass in a window
   * @param blockDuration how long a client is blocked after its limit, in milliseconds; 0 or less for the rest of its window
   * @param throttlerName name of the throttler; each name has its own counters
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` if an argument is wrong; nothing is counted
   * @throws {ServiceUnavailableException} if the store cannot answer and the module's `onStoreError` is `'deny'`
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const request = readIncrementArguments(ttl, limit, blockDuration);
    try {
      return await this.count(readKey(throttlerName, key), request);
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      throw new ServiceUnavailableException(STORE_FAILED_MESSAGE, { cause: error });
    }
  }

  private async count(key: Key, { windowMs, limit, blockMs }: IncrementArguments): Promise<ThrottlerRecord> {
    const hits = { name: 'throttler', key, window: ms(windowMs), limit, ...FIXED };
    // an open block denies this check, and then the hit is not counted either: all checks are charged or none
    const blocked = blockMs === undefined ? [] : [{ ...blockOf(key, blockMs), limit: 0, cost: 0 }];
    const { allowed, results } = await this.limits.consume([hits, ...blocked]);
    const [ofHits, ofBlock] = results as [CheckResult, CheckResult?];
    if (allowed) return toRecord(ofHits, 0);
    if (blockMs === undefined) return toRecord(ofHits, ofHits.retryAfterMs);
    if (ofBlock?.allowed === false) return toRecord(ofHits, ofBlock.retryAfterMs);
    const waitMs = await this.block(blockOf(key, blockMs), windowMs > blockMs ? hits : undefined);
    return toRecord(ofHits, waitMs || ofHits.retryAfterMs);
  }

  /**
   * Opens a block, unless a concurrent request has opened it.
   * @param hits the hits to forget, if their window would outlast the block and deny the requests after it
   * @returns how long the block lasts, in milliseconds; 0 if no store could open it
   */
  private async block(block: WindowCheck, hits: WindowCheck | undefined): Promise<number> {
    const { allowed, results } = await this.limits.consume({ ...block, limit: 1 });
    const [{ resetAfterMs, retryAfterMs }] = results as [CheckResult];
    if (allowed && hits !== undefined) await this.forget(hits);
    return allowed ? resetAfterMs : retryAfterMs;
  }

  private async forget(hits: WindowCheck): Promise<void> {
    try {
      await this.limits.reset(hits);
    } catch (error) {
      // the request is denied either way
      if (!isStoreFailure(error)) throw error;
    }
  }
}

/** The counter of a block. It is open while the client is blocked. */
function blockOf(key: Key, blockMs: number): WindowCheck {
  return { name: 'throttler-block', key, window: ms(blockMs), ...FIXED };
}

function ms(duration: number): `${number}ms` {
  return `${duration}ms`;
}

/** The throttler has seconds. They are rounded up, so that no client comes back too early. */
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
