import type { ResolvedOptions } from '../freq-limit.options.js';
import { FREQ_LIMIT_PLANS, FREQ_LIMIT_RESOLVED_OPTIONS, FREQ_LIMIT_STORE } from '../core/tokens.js';
import { nestLog } from '../nest/log.js';
import { MemoryStore } from '../store/memory/memory-store.js';
import type { TestClock } from './test-clock.js';
import { UnlimitedPlans } from './unlimited-plans.js';

/** The part of a `TestingModuleBuilder` of `@nestjs/testing` that is used here. */
export interface ModuleBuilder {
  /** Replaces a provider. */
  overrideProvider(token: string): {
    useClass(metatype: unknown): unknown;
    useFactory(options: { factory: (...injected: never[]) => unknown; inject?: unknown[] }): unknown;
  };
}

/**
 * Counts in memory instead of Redis, each compiled module with its own counters. The limiter does not connect to Redis,
 * whatever `forRoot` or `forRootAsync` says; all other options apply. A Redis client that the application makes itself still
 * connects: replace its provider too.
 * @param clock the clock of the windows; default: `performance.now()`, which the fake timers of Jest, Vitest and Sinon move
 * @returns the builder
 *
 * @example
 * const clock = new TestClock();
 * const module = await useMemoryStore(Test.createTestingModule({ imports: [AppModule] }), clock).compile();
 */
export function useMemoryStore<Builder extends ModuleBuilder>(builder: Builder, clock?: TestClock): Builder {
  builder.overrideProvider(FREQ_LIMIT_STORE).useFactory({
    factory: ({ maxCounters }: ResolvedOptions) => new MemoryStore(maxCounters, nestLog, clock?.now),
    inject: [FREQ_LIMIT_RESOLVED_OPTIONS],
  });
  return builder;
}

/**
 * Lets every request pass, without headers, and counts in memory as `useMemoryStore` does. Wrong declarations still stop
 * the application, and `FreqLimitService` still counts.
 * @returns the builder
 *
 * @example
 * const module = await disableLimits(Test.createTestingModule({ imports: [AppModule] })).compile();
 */
export function disableLimits<Builder extends ModuleBuilder>(builder: Builder): Builder {
  builder.overrideProvider(FREQ_LIMIT_PLANS).useClass(UnlimitedPlans);
  return useMemoryStore(builder);
}
