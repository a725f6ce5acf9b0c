import {
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { Adapters } from './contexts/adapters.js';
import { FreqLimitError, formatForLog, invalidOptions } from './core/errors.js';
import { BOOLEAN, OptionReader } from './core/validate.js';
import { StartUpWarnings } from './warnings/start-up-warnings.js';
import { FirstInit, FirstInitModule } from './plans/first-init.js';
import { gatewayServers } from './contexts/gateway-servers.js';
import { FreqLimitGuard } from './freq-limit.guard.js';
import { prepareHandlers } from './plans/prepare-handlers.js';
import { FreqLimitHealthIndicator } from './freq-limit.health-indicator.js';
import { warnOfMessageHandlers } from './warnings/message-handler-warnings.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  type OPTIONS_TYPE,
} from './freq-limit.module-definition.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import { resolveOptions } from './freq-limit.resolve-options.js';
import { FreqLimitPlans, type HandlerPlan } from './plans/plans.js';
import { VerdictEvents } from './decisions/events.js';
import { FreqLimitService } from './freq-limit.service.js';
import {
  FREQ_LIMIT_ADAPTERS,
  FREQ_LIMIT_OPTIONS,
  FREQ_LIMIT_PLANS,
  FREQ_LIMIT_EVENTS,
  FREQ_LIMIT_RESOLVED_OPTIONS,
  FREQ_LIMIT_STORE,
} from './core/tokens.js';
import { debugPlans } from './rules/debug-log.js';
import { createStore } from './store/create-store.js';
import type { Store } from './core/store.js';

const ASYNC_PROPERTIES = [
  'imports',
  'inject',
  'useFactory',
  'useClass',
  'useExisting',
  'provideInjectionTokensFrom',
  'global',
  'globalGuard',
];

/** Limits on how often something may happen. Import it once, in the application's root module. */
@Module({
  imports: [DiscoveryModule, FirstInitModule],
  providers: [
    { provide: FREQ_LIMIT_RESOLVED_OPTIONS, useFactory: resolveOptions, inject: [FREQ_LIMIT_OPTIONS] },
    {
      provide: FREQ_LIMIT_STORE,
      useFactory: (options: ResolvedOptions) => createStore(options, new Logger('FreqLimit')),
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
  private readonly handlers: readonly HandlerPlan[];

  constructor(
    @Inject(FREQ_LIMIT_ADAPTERS) private readonly adapters: Adapters,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
    @Inject(FirstInit) firstInit: FirstInit,
  ) {
    super();
    this.handlers = plans.handlers();
    prepareHandlers(this.handlers, options);
    firstInit.run(() => {
      this.prepareMade();
    });
  }

  /** Configures the module with options at hand. Without any, counters live in this process. */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    checkExtras('FreqLimitModule.forRoot', options);
    return super.forRoot(options);
  }

  /** Configures the module with options that come from elsewhere: `useFactory`, `useClass` or `useExisting`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    const place = 'FreqLimitModule.forRootAsync';
    checkExtras(place, options);
    new OptionReader(place, invalidOptions).object(options, ASYNC_PROPERTIES);
    if ([options.useFactory, options.useClass, options.useExisting].filter(Boolean).length !== 1) {
      throw invalidOptions(`${place}: give one of useFactory, useClass and useExisting`);
    }
    return super.forRootAsync(options);
  }

  /** Checks all declarations before anything is opened; a wrong one stops the application here. */
  async onModuleInit(): Promise<void> {
    this.refuseSecondRegistration();
    this.plans.compile();
    debugPlans(() => this.plans.handlers());
    await warnOfMessageHandlers(this.handlers, this.hasHttp);
    await this.store.open();
    // only now, so that a failed start leaves no listeners
    this.adapters.watchConnections();
  }

  /** Gateways are open by now. */
  onApplicationBootstrap(): void {
    this.adapters.watchHandshakes(gatewayServers(this.modules));
  }

  /** After the last request is answered. */
  async onApplicationShutdown(): Promise<void> {
    this.adapters.unwatchConnections();
    await this.store.close();
  }

  /** Prepares resolvers from factories, before `GraphQLModule` looks for resolvers. */
  private prepareMade(): void {
    this.plans.lookAtInstances();
    const known = new Set(this.handlers.map(({ method }) => method));
    prepareHandlers(
      this.plans.handlers().filter(({ method }) => !known.has(method)),
      this.options,
    );
  }

  private get hasHttp(): boolean {
    // none in an application without HTTP, whatever its type says
    return Boolean(this.http.httpAdapter as unknown);
  }

  private refuseSecondRegistration(): void {
    const all = [...this.modules.values()];
    // known by what they provide: the module of another copy of this package is another class
    const ours = all
      .filter(({ providers }) => providers.has(FREQ_LIMIT_STORE))
      .map(({ metatype }) => metatype as unknown);
    if (ours.length < 2) return;
    const importers = all.filter(({ metatype }) =>
      importsOf(metatype).some((module) => ours.includes(module)),
    );
    const names = importers.map(({ metatype }) => metatype.name).join(' and ') || 'dynamic modules';
    throw new FreqLimitError(
      'FREQ_LIMIT_INVALID_OPTIONS',
      `FreqLimitModule is registered ${ours.length} times in one application, by ${names}: register it once`,
    );
  }
}

/** Checks what is needed before the options are read. Nest copies own properties alone, so nothing may hide behind them. */
function checkExtras(place: string, options: unknown): void {
  const reader = new OptionReader(place, invalidOptions);
  const prototype: unknown = Object.getPrototypeOf(Object(options));
  if (
    typeof options !== 'object' ||
    options === null ||
    (prototype !== null && Object.getPrototypeOf(prototype) !== null)
  ) {
    throw invalidOptions(
      `${place}: ${formatForLog(options)} is not a plain object of options; a class goes to useClass`,
    );
  }
  const { global, globalGuard } = options as Readonly<Record<string, unknown>>;
  reader.optional('global', global, BOOLEAN);
  reader.optional('globalGuard', globalGuard, BOOLEAN);
}

/** The modules behind what a module's decorator imports. */
function importsOf(metatype: object): unknown[] {
  const imports = (Reflect.getMetadata('imports', metatype) ?? []) as readonly unknown[];
  return imports.map((entry) => (Object(entry) as { module?: unknown }).module);
}
