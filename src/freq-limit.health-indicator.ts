import { Inject, Injectable } from '@nestjs/common';
import { FREQ_LIMIT_STORE } from './core/tokens.js';
import type { Store } from './core/store.js';

/** The state of the store, for a health check of `@nestjs/terminus`. */
export interface FreqLimitHealth {
  /** `'down'` if the store cannot answer, and `onStoreError` applies. */
  readonly status: 'up' | 'down';
  /** Where the limiter counts. */
  readonly store: 'memory' | 'redis';
  /** Since when the store is down, as an ISO date. Absent while it is up. */
  readonly since?: string;
}

/**
 * A health indicator for `@nestjs/terminus` 11 and later: `health.check([() => indicator.isHealthy()])`. Works without that
 * package too.
 *
 * It reports what requests have found. While the store is down, a check also tries it, at most once a second. The
 * application continues with `onStoreError`, so use the indicator for monitoring, not to take an instance out of service. The
 * reason is not part of the result, which may be public: it is in the log and in `FreqLimitService.health()`.
 */
@Injectable()
export class FreqLimitHealthIndicator {
  constructor(@Inject(FREQ_LIMIT_STORE) private readonly store: Store) {}

  /**
   * Returns the state at once.
   * @param key the property of the result; default: `'freqLimit'`
   */
  isHealthy<const Key extends string = 'freqLimit'>(key?: Key): Record<Key, FreqLimitHealth> {
    const { store, isUp, since } = this.store.health();
    const health: FreqLimitHealth = {
      status: isUp ? 'up' : 'down',
      store,
      ...(since && { since: since.toISOString() }),
    };
    return { [key ?? 'freqLimit']: health } as Record<Key, FreqLimitHealth>;
  }
}
