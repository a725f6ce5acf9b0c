import { ServiceUnavailableException } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { STORE_FAILED_MESSAGE } from '../answers/error-body.js';
import { type CheckResult, secondsToWait } from '../core/check.js';
import { formatForLog, invalidOptions } from '../core/errors.js';
import { oneOf, OptionReader } from '../core/validate.js';
import type { FreqLimitService } from '../freq-limit.service.js';
import {
  type IncrementArguments,
  type Key,
  ms,
  readIncrementArguments,
  readKey,
} from './increment-arguments.js';
import { isStoreFailure, ShortBlocks } from './short-blocks.js';

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** The options of the storage. */
export interface FreqLimitThrottlerStorageOptions {
  /**
   * How hits expire: all hits of a window together, or each about `ttl` after it was counted, as in the throttler's own
   * storage. With `'sliding-window'` a hit counts up to 1/16 longer than `ttl`.
   * @default 'fixed-window'
   */
  readonly algorithm?: 'fixed-window' | 'sliding-window' | undefined;
}

const ALGORITHM = oneOf('fixed-window', 'sliding-window');
const reader = new OptionReader('FreqLimitThrottlerStorage', invalidOptions);

/**
 * A storage for `@nestjs/throttler` 6.4 and later that counts where `FreqLimitModule` counts: in Redis, or in this process.
 *
 * The throttler's decorators, options and guard stay as they are. It differs from the throttler's own storage:
 *
 * - Windows are fixed: all hits of a window expire together. In the throttler's own storage each hit expires by itself;
 *   `algorithm: 'sliding-window'` is close to this.
 * - With `'sliding-window'` a block also lasts until no hit counts: up to 1/16 of `ttl` longer than a `blockDuration` that
 *   equals `ttl`.
 * - A `blockDuration` shorter than `ttl` has its own counters: a handler with another duration does not see its hits and
 *   blocks.
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
  private readonly algorithm: 'fixed-window' | 'sliding-window';
  private readonly shortBlocks: ShortBlocks;

  /**
   * @param limits the `FreqLimitService` of the application
   * @param options how hits expire
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` if the service is missing, as without `inject`, or an option is wrong
   */
  constructor(
    private readonly limits: Pick<FreqLimitService, 'consume' | 'reset'>,
    options: FreqLimitThrottlerStorageOptions = {},
  ) {
    const { consume } = Object(limits) as { readonly consume?: unknown };
    if (typeof consume !== 'function') {
      throw invalidOptions(
        `FreqLimitThrottlerStorage: ${formatForLog(limits)} is not a FreqLimitService; write inject: [FreqLimitService] ` +
          'next to useFactory, and pass its first parameter',
      );
    }
    const { algorithm } = reader.object(options, ['algorithm']);
    this.algorithm = reader.optional('algorithm', algorithm, ALGORITHM) ?? 'fixed-window';
    this.shortBlocks = new ShortBlocks(limits);
  }

  /**
   * Counts a request, unless the client is blocked. Calls the store once; two or three times if a block shorter than `ttl`
   * begins.
   * @param key what the throttler counts by, not empty
   * @param ttl length of the window in milliseconds, above 0
   * @param limit requests that pass in a window
   * @param blockDuration how long a client is blocked after its limit, in milliseconds; 0 or less: until a request passes again
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
      return toRecord(await this.count(readKey(throttlerName, key), request));
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      throw new ServiceUnavailableException(STORE_FAILED_MESSAGE, { cause: error });
    }
  }

  private async count(key: Key, { windowMs, limit, blockMs }: IncrementArguments): Promise<CheckResult> {
    const hits = { key, window: ms(windowMs), limit, algorithm: this.algorithm, countDenied: false } as const;
    // a block of `blockFor` lasts until its counter is as new, and a limit of 0 begins none
    if (blockMs !== undefined && (blockMs < windowMs || limit === 0))
      return this.shortBlocks.count(hits, blockMs);
    const blockFor = blockMs === undefined ? undefined : ms(blockMs);
    const { results } = await this.limits.consume({ name: 'throttler', ...hits, blockFor });
    return (results as [CheckResult])[0];
  }
}

/** The throttler has seconds. They are rounded up, so that no client comes back too early. */
function toRecord(result: CheckResult): ThrottlerRecord {
  const { used, limit, resetAfterMs, retryAfterMs } = result;
  const isBlocked = retryAfterMs > 0;
  return {
    totalHits: isBlocked ? limit + 1 : used,
    timeToExpire: Math.ceil(resetAfterMs / 1_000),
    isBlocked,
    timeToBlockExpire: isBlocked ? secondsToWait(result) : 0,
  };
}
