import { ConfigurableModuleBuilder, type Provider } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { GlobalFreqLimitGuard } from './freq-limit.global-guard.js';
import type { FreqLimitOptions } from './freq-limit.options.js';
import { FREQ_LIMIT_OPTIONS } from './core/tokens.js';

/** What must be known before the options are: it stands beside `useFactory`, not in its answer. */
export interface FreqLimitModuleExtras {
  /**
   * Whether other modules can inject `FreqLimitService`, and use `FreqLimitGuard`, without importing this one.
   * @default true
   */
  global?: boolean;
  /**
   * Whether the guard stands before every handler of the application. Where it does not, place
   * `@UseGuards(FreqLimitGuard)` yourself, for instance after the guard that sets `request.user`.
   * @default true
   */
  globalGuard?: boolean;
}

/** A class that makes the options, for `useClass` and `useExisting`. */
export interface FreqLimitOptionsFactory {
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
