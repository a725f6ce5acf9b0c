import { ConfigurableModuleBuilder, type Provider } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { GlobalFreqLimitGuard } from './freq-limit.global-guard.js';
import type { FreqLimitOptions } from './freq-limit.options.js';
import { FREQ_LIMIT_OPTIONS } from './core/tokens.js';

/** Options that Nest needs before it reads the others. For `forRootAsync`, write them next to `useFactory`. */
export interface FreqLimitModuleExtras {
  /**
   * Whether other modules can inject `FreqLimitService` and use `FreqLimitGuard` without importing this module.
   * @default true
   */
  global?: boolean;
  /**
   * Whether the guard protects every handler of the application. If `false`, add `@UseGuards(FreqLimitGuard)` yourself, for
   * example after the guard that sets `request.user`.
   * @default true
   */
  globalGuard?: boolean;
}

/** A class that makes the options, for `useClass` and `useExisting`. */
export interface FreqLimitOptionsFactory {
  /** Returns the options of the module. Called once, at start-up. */
  createFreqLimitOptions(): FreqLimitOptions | Promise<FreqLimitOptions>;
}

const GLOBAL_GUARD: readonly Provider[] = [
  GlobalFreqLimitGuard,
  { provide: APP_GUARD, useExisting: GlobalFreqLimitGuard },
];

export const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<FreqLimitOptions>({
    moduleName: 'FreqLimit',
    optionsInjectionToken: FREQ_LIMIT_OPTIONS,
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createFreqLimitOptions' satisfies keyof FreqLimitOptionsFactory)
    .setExtras<FreqLimitModuleExtras>({ global: true, globalGuard: true }, (definition, extras) => ({
      ...definition,
      global: extras.global ?? true,
      providers: [...(definition.providers ?? []), ...((extras.globalGuard ?? true) ? GLOBAL_GUARD : [])],
    }))
    .build();
