import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { Adapters } from './contexts/adapters.js';
import { Mistakes } from './core/mistakes.js';
import { shortenStack } from './core/stack-frames.js';
import type { Store } from './core/store.js';
import {
  FREQ_LIMIT_ADAPTERS,
  FREQ_LIMIT_EVENTS,
  FREQ_LIMIT_OPTIONS,
  FREQ_LIMIT_PLANS,
  FREQ_LIMIT_RESOLVED_OPTIONS,
  FREQ_LIMIT_STORE,
} from './core/tokens.js';
import { VerdictEvents } from './decisions/events.js';
import { checkForRoot, checkForRootAsync } from './freq-limit.check-registration.js';
import { withFactoryErrors } from './freq-limit.options-factory.js';
import { FreqLimitGuard } from './freq-limit.guard.js';
import { FreqLimitHealthIndicator } from './freq-limit.health-indicator.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  type OPTIONS_TYPE,
} from './freq-limit.module-definition.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import { resolveOptions } from './freq-limit.resolve-options.js';
import { FreqLimitService } from './freq-limit.service.js';
import { FirstInit, FirstInitModule } from './nest/first-init.js';
import { LeaseKeeper } from './leases/lease-keeper.js';
import { gatewayServers } from './nest/gateways.js';
import { nestLog } from './nest/log.js';
import { checkModule } from './nest/made-by-nest.js';
import { rejectBareImport, requireSingleRegistration } from './nest/single-registration.js';
import { documentDenials } from './plans/open-api.js';
import { FreqLimitPlans } from './plans/plans.js';
import { prepareHandlers } from './plans/prepare-handlers.js';
import { unknownEnds } from './plans/unknown-ends.js';
import { debugPlans } from './rules/debug-log.js';
import { createStore } from './store/create-store.js';
import { storeOrError, UnusableStore } from './store/unusable-store.js';
import { StartUpWarnings } from './warnings/start-up-warnings.js';

/** Rate limits for handlers. Import it once, in the root module of the application. */
@Module({
  imports: [DiscoveryModule, FirstInitModule],
  providers: [
    // forRoot and forRootAsync replace it
    { provide: FREQ_LIMIT_OPTIONS, useFactory: rejectBareImport, inject: [ModulesContainer] },
    { provide: FREQ_LIMIT_RESOLVED_OPTIONS, useFactory: resolveOptions, inject: [FREQ_LIMIT_OPTIONS] },
    {
      provide: FREQ_LIMIT_STORE,
      useFactory: (options: ResolvedOptions) =>
        storeOrError(new Mistakes(options.errors?.values()).error, () => createStore(options, nestLog)),
      inject: [FREQ_LIMIT_RESOLVED_OPTIONS],
    },
    { provide: FREQ_LIMIT_PLANS, useClass: FreqLimitPlans },
    {
      provide: FREQ_LIMIT_ADAPTERS,
      useFactory: (http: HttpAdapterHost, options: ResolvedOptions) =>
        new Adapters(http, options.contextAdapters),
      inject: [HttpAdapterHost, FREQ_LIMIT_RESOLVED_OPTIONS],
    },
    {
      provide: FREQ_LIMIT_EVENTS,
      useFactory: (options: ResolvedOptions) => new VerdictEvents(options),
      inject: [FREQ_LIMIT_RESOLVED_OPTIONS],
    },
    StartUpWarnings,
    FreqLimitGuard,
    FreqLimitService,
    FreqLimitHealthIndicator,
  ],
  exports: [
    FREQ_LIMIT_RESOLVED_OPTIONS,
    FREQ_LIMIT_STORE,
    FREQ_LIMIT_PLANS,
    FREQ_LIMIT_ADAPTERS,
    FREQ_LIMIT_EVENTS,
    FreqLimitGuard,
    FreqLimitService,
    FreqLimitHealthIndicator,
  ],
})
export class FreqLimitModule
  extends ConfigurableModuleClass
  implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown
{
  constructor(
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_ADAPTERS) private readonly adapters: Adapters,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) options: ResolvedOptions,
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(StartUpWarnings) private readonly warnings: StartUpWarnings,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(FirstInit) firstInit: FirstInit,
  ) {
    super();
    checkModule(FreqLimitModule, firstInit);
    // start-up begins here: its steps are at the end of this class, in their order
    this.prepareKnownClasses(options);
    firstInit.run(async () => {
      this.prepareClassesOfInstances();
      await this.stopIfWrong();
    });
  }

  /**
   * Configures the module. Without options, counters are kept in the memory of this process.
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` if `options` is not an object; wrong options and rules stop the
   * application when it starts, with one error for all
   */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    checkForRoot(options);
    return super.forRoot(options);
  }

  /**
   * Configures the module with options from a provider: `useFactory`, `useClass` or `useExisting`.
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` if none or several of the three are given; wrong options and rules
   * stop the application when it starts, with one error for all
   */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    checkForRootAsync(options);
    return withFactoryErrors(super.forRootAsync(options), options);
  }

  // The steps of start-up, in their order. Before them, Nest has made the providers above: the options are read, and there is
  // a store, which is not connected yet.

  /** While Nest instantiates providers: it has not read the handlers yet, and no OpenAPI document is written. */
  private prepareKnownClasses(options: ResolvedOptions): void {
    const handlers = this.plans.planKnownClasses();
    prepareHandlers(handlers);
    documentDenials(handlers, options);
  }

  /** When everything is instantiated, and `GraphQLModule` has not looked for resolvers yet. */
  private prepareClassesOfInstances(): void {
    prepareHandlers(this.plans.planClassesOfInstances());
  }

  /** Then all mistakes are known. No other module is initialized yet, and nothing is opened. */
  private async stopIfWrong(): Promise<void> {
    const ofStore = this.store instanceof UnusableStore ? [this.store.error] : [];
    const ends = unknownEnds(this.plans.guardedHandlers(), this.plans.fieldEnhancers());
    const mistakes = new Mistakes([...ofStore, ...this.plans.errors(), ...ends]);
    mistakes.attempt(() => {
      requireSingleRegistration(this.modules);
    });
    const { error } = mistakes;
    if (error === undefined) return;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- not called
    shortenStack(error, FirstInit.prototype.onModuleInit);
    // a client of the application keeps no listener of the store
    await this.store.close();
    throw error;
  }

  /** Opens the store. Modules with a client of the application are initialized before. */
  async onModuleInit(): Promise<void> {
    debugPlans(() => this.plans.handlers());
    await this.store.open();
    // only now, so that a failed start leaves no listeners
    this.adapters.watchConnections();
  }

  /** Gateways are open, and the application's guards are known. */
  async onApplicationBootstrap(): Promise<void> {
    this.adapters.watchHandshakes(gatewayServers(this.modules));
    await this.warnings.log();
  }

  /** After the last request. */
  async onApplicationShutdown(): Promise<void> {
    this.adapters.unwatchConnections();
    await LeaseKeeper.of(this.store).close();
    await this.store.close();
  }
}
