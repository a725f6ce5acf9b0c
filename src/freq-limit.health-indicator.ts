import { Inject, Injectable } from '@nestjs/common';
import { FREQ_LIMIT_STORE } from './core/tokens.js';
import type { Store } from './core/store.js';

/** What a health check of `@nestjs/terminus` wants to know. */
export interface FreqLimitHealth {
  readonly status: 'up' | 'down';
  /** Where counters are. */
  readonly store: 'memory' | 'redis';
  /** Since when the store is not asked, as an ISO date; absent while it is up. */
  readonly since?: string;
}

/**
 * A health indicator for `@nestjs/terminus` 11 and later, which need not be installed:
 * `health.check([() => indicator.isHealthy()])`.
 *
 * It reports what requests have found. While the store is down, a check also tries it, at most once a second. The application
 * continues with `onStoreError` meanwhile, so use it for monitoring, not to take an instance out of service. The reason why the
 * store is down is in the log and in `FreqLimitService.health()`, not in this public result.
 */
@Injectable()
export class FreqLimitHealthIndicator {
  constructor(@Inject(FREQ_LIMIT_STORE) private readonly store: Store) {}

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
