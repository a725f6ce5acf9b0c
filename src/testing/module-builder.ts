import type { ResolvedOptions } from '../freq-limit.options.js';
import { FREQ_LIMIT_PLANS, FREQ_LIMIT_RESOLVED_OPTIONS, FREQ_LIMIT_STORE } from '../core/tokens.js';
import { nestLog } from '../nest/log.js';
import { MemoryStore } from '../store/memory/memory-store.js';
import type { TestClock } from './test-clock.js';
import { UnlimitedPlans } from './unlimited-plans.js';

/** What is used of a `TestingModuleBuilder` of `@nestjs/testing`. */
export interface ModuleBuilder {
  overrideProvider(token: string): {
    useClass(metatype: unknown): unknown;
    useFactory(options: { factory: (...injected: never[]) => unknown; inject?: unknown[] }): unknown;
  };
}

/**
 * Counts in memory, each compiled module for itself: no Redis is connected to, whatever `forRoot` or `forRootAsync`
 * says. Everything else of the options holds. A client that the application makes itself is the application's to replace.
 * @param clock moves the windows
 * @returns the builder
 * @default clock: the process's own, which Jest's and Sinon's fake timers move
 *
 * @example
 * const clock = new TestClock();
 * const module = await countInMemory(Test.createTestingModule({ imports: [AppModule] }), clock).compile();
 */
export function useMemoryStore<Builder extends ModuleBuilder>(builder: Builder, clock?: TestClock): Builder {
  builder.overrideProvider(FREQ_LIMIT_STORE).useFactory({
    factory: ({ maxCounters }: ResolvedOptions) =>
      new MemoryStore(maxCounters, nestLog, clock?.now),
    inject: [FREQ_LIMIT_RESOLVED_OPTIONS],
  });
  return builder;
}

/**
 * Lets every request pass without headers, and connects to no Redis. Wrong declarations still stop the application.
 * What the application asks `FreqLimitService` is counted in memory.
 * @returns the builder
 */
export function disableLimits<Builder extends ModuleBuilder>(builder: Builder): Builder {
  builder.overrideProvider(FREQ_LIMIT_PLANS).useClass(UnlimitedPlans);
  return useMemoryStore(builder);
}
