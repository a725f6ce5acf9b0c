import type { CheckResult } from '../core/check.js';
import { isFreqLimitError } from '../core/errors.js';
import type { FreqLimitService } from '../freq-limit.service.js';
import type { WindowCheck } from '../rules/service-check-types.js';
import { ms } from './increment-arguments.js';

/**
 * Blocks that end before the window of the hits, and then forget the hits, as the throttler's own storage does. Such a block
 * has its own counter, and costs one or two more calls when it begins.
 */
export class ShortBlocks {
  constructor(private readonly limits: Pick<FreqLimitService, 'consume' | 'reset'>) {}

  /** @returns the result of the hits; `retryAfterMs` is when the block ends */
  async count(hits: WindowCheck, blockMs: number): Promise<CheckResult> {
    const ofHits = { ...hits, name: 'throttler-short' };
    const block: WindowCheck = {
      ...{ name: 'throttler-block', key: hits.key, window: ms(blockMs) },
      ...{ algorithm: 'fixed-window', countDenied: false },
    };
    // an open block denies this check, and then the hit is not counted either: all checks are charged or none
    const { allowed, results } = await this.limits.consume([ofHits, { ...block, limit: 0, cost: 0 }]);
    const [hitsNow, blockNow] = results as [CheckResult, CheckResult];
    if (allowed) return hitsNow;
    const waitMs = blockNow.allowed ? await this.begin(block, ofHits) : leftOf(blockNow);
    return { ...hitsNow, retryAfterMs: waitMs || hitsNow.retryAfterMs };
  }

  /**
   * Begins a block, unless a concurrent request has begun it. Then also forgets the hits, which would deny the requests after
   * the block.
   * @returns how long the block lasts, in milliseconds; 0 if no store could begin it
   */
  private async begin(block: WindowCheck, hits: WindowCheck): Promise<number> {
    const { allowed, results } = await this.limits.consume({ ...block, limit: 1 });
    const [blockNow] = results as [CheckResult];
    if (!allowed) return leftOf(blockNow);
    await this.forget(hits);
    return blockNow.resetAfterMs;
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

/** How much of a block is left, at most its length. Its counter lasts a millisecond longer. */
function leftOf({ retryAfterMs, windowMs }: CheckResult): number {
  return Math.min(retryAfterMs, windowMs);
}

export function isStoreFailure(error: unknown): boolean {
  return isFreqLimitError(error) && error.code === 'FREQ_LIMIT_STORE_FAILED';
}
