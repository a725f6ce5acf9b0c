import type { DynamicModule, FactoryProvider, Provider } from '@nestjs/common';
import { formatError, type FreqLimitError, invalidOptions, oneLine } from './core/errors.js';
import { FREQ_LIMIT_OPTIONS } from './core/tokens.js';
import type { ASYNC_OPTIONS_TYPE, FreqLimitOptionsFactory } from './freq-limit.module-definition.js';

type Factory = FactoryProvider['useFactory'];

const FACTORY_METHOD = 'createFreqLimitOptions' satisfies keyof FreqLimitOptionsFactory;
const PLACE = 'FreqLimitModule.forRootAsync';

/** Makes a module explain what is wrong with a factory of its options, where Nest would only show a `TypeError`. */
export function withFactoryErrors(module: DynamicModule, options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
  const providers = module.providers?.map((provider) =>
    isOptionsProvider(provider) ? { ...provider, useFactory: explained(options) } : provider,
  );
  return { ...module, providers: providers ?? [] };
}

function isOptionsProvider(provider: Provider): provider is FactoryProvider {
  return (provider as Partial<FactoryProvider>).provide === FREQ_LIMIT_OPTIONS;
}

function explained({ useFactory, inject = [] }: typeof ASYNC_OPTIONS_TYPE): Factory {
  if (useFactory === undefined) return callFactory;
  if (useFactory.length <= inject.length) return useFactory;
  return async (...injected: never[]) => {
    try {
      return await useFactory(...injected);
    } catch (error) {
      throw withInject(error, useFactory.length, inject.length);
    }
  };
}

/** For `useClass` and `useExisting`. */
function callFactory(factory: unknown): ReturnType<FreqLimitOptionsFactory[typeof FACTORY_METHOD]> {
  const made = Object(factory) as FreqLimitOptionsFactory;
  if (typeof (made[FACTORY_METHOD] as unknown) === 'function') return made[FACTORY_METHOD]();
  const { name } = (made as object).constructor;
  throw invalidOptions(
    `${PLACE}: ${oneLine(name)} has no method ${FACTORY_METHOD}(); add it, and return the options from it`,
  );
}

/** A parameter without a provider is `undefined`, and most likely the cause of the error. */
function withInject(error: unknown, parameters: number, providers: number): FreqLimitError {
  return invalidOptions(
    `${PLACE}: useFactory failed: ${formatError(error)}. It has ${parameters} parameter(s), but inject lists ${providers} ` +
      'provider(s); add what is missing, such as inject: [ConfigService]',
    error,
  );
}
