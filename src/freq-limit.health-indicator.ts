import { Inject, Injectable } from '@nestjs/common';
import { invalidOptions } from './core/errors.js';
import type { Store } from './core/store.js';
import { FREQ_LIMIT_STORE } from './core/tokens.js';
import { BOOLEAN, NOT_EMPTY, OptionReader } from './core/validate.js';

/** The state of the store, for a health check of `@nestjs/terminus`. */
export interface FreqLimitHealth {
  /** `'up'` while the application decides requests, also by `onStoreError`. `'down'` only with `downIfDegraded`. */
  readonly status: 'up' | 'down';
  /** Where the limiter counts. */
  readonly store: 'memory' | 'redis';
  /** The store cannot answer, and `onStoreError` applies. Absent while the store answers. */
  readonly isDegraded?: true;
  /** Since when the store cannot answer, as an ISO date. Absent while it answers. */
  readonly since?: string;
}

/** How `isHealthy` reports a store that cannot answer. */
export interface FreqLimitHealthOptions {
  /**
   * Reports `'down'` while the store cannot answer: for monitoring, or if all rules have `onStoreError: 'deny'`. A readiness
   * check with it takes all instances out of service when Redis fails.
   * @default false
   */
  readonly downIfDegraded?: boolean | undefined;
}

const PLACE = 'FreqLimitHealthIndicator.isHealthy';

/**
 * A health indicator for `@nestjs/terminus` 11 and later: `health.check([() => indicator.isHealthy()])`. Works without that
 * package too.
 *
 * It reports what requests have found. While the store cannot answer, a check also tries it, at most once a second. The
 * reason is not part of the result, which may be public: it is in the log and in `FreqLimitService.health()`.
 */
@Injectable()
export class FreqLimitHealthIndicator {
  constructor(@Inject(FREQ_LIMIT_STORE) private readonly store: Store) {}

  /**
   * Returns the state at once. While the store cannot answer, it is `'up'` with `isDegraded: true`, because the application
   * continues with `onStoreError`.
   * @param key the property of the result; default: `'freqLimit'`
   * @param options `downIfDegraded: true` reports `'down'` instead
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` if an argument is wrong
   */
  isHealthy<const Key extends string = 'freqLimit'>(
    key?: Key,
    options: FreqLimitHealthOptions = {},
  ): Record<Key, FreqLimitHealth> {
    const reader = new OptionReader(PLACE, invalidOptions);
    const property = reader.optional('key', key, NOT_EMPTY) ?? 'freqLimit';
    reader.object(options, ['downIfDegraded']);
    const downIfDegraded = reader.optional('downIfDegraded', options.downIfDegraded, BOOLEAN) ?? false;
    const { store, isUp, since } = this.store.health();
    const health: FreqLimitHealth = {
      status: isUp || !downIfDegraded ? 'up' : 'down',
      store,
      ...(!isUp && { isDegraded: true }),
      ...(since && { since: since.toISOString() }),
    };
    return { [property]: health } as Record<Key, FreqLimitHealth>;
  }
}
