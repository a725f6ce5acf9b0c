import { formatForLog, invalidOptions } from './core/errors.js';
import { isClass } from './core/is-class.js';
import { isPromise } from './core/maybe-promise.js';
import { Mistakes } from './core/mistakes.js';
import { hintsFor, type OptionHints } from './core/option-hints.js';
import { aFunction, BOOLEAN, OptionReader, type Validator } from './core/validate.js';
import { rulesOfThrottler } from './freq-limit.option-hints.js';
import { OPTION_NAMES } from './freq-limit.resolve-options.js';
import { isClient } from './store/redis/redis-option.js';

// what is checked before Nest makes a module of the arguments of forRoot and forRootAsync

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
const ASYNC_HINTS: OptionHints = {
  ...hintsFor(OPTION_NAMES, (name) => ({ advice: `return it from useFactory: () => ({ ${name}: … })` })),
  useValue: { advice: 'use FreqLimitModule.forRoot(options)' },
  isGlobal: 'global',
};
const A_LIST: Validator<readonly unknown[]> = {
  test: (value): value is readonly unknown[] => Array.isArray(value),
  expected: 'a list, such as [ConfigService]',
};
const ASYNC_VALIDATORS: Readonly<Record<string, Validator<unknown>>> = {
  useFactory: aFunction(),
  useClass: { ...aFunction(), expected: 'a class' },
  inject: A_LIST,
  imports: A_LIST,
};

/**
 * Checks the arguments of `forRoot`.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS`
 */
export function checkForRoot(options: unknown): void {
  checkExtras('FreqLimitModule.forRoot', options, adviceForRoot);
}

/**
 * Checks the arguments of `forRootAsync`.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS`
 */
export function checkForRootAsync(options: unknown): void {
  const place = 'FreqLimitModule.forRootAsync';
  checkExtras(place, options, adviceForRootAsync);
  const reader = new OptionReader(place, invalidOptions);
  const mistakes = new Mistakes();
  for (const [option, value] of Object.entries(options as Readonly<Record<string, unknown>>)) {
    const validator = ASYNC_VALIDATORS[option];
    mistakes.attempt(() => {
      reader.object({ [option]: value }, ASYNC_PROPERTIES, ASYNC_HINTS);
      if (validator !== undefined) reader.optional(option, value, validator);
    });
  }
  mistakes.orThrow(undefined);
  const { useFactory, useClass, useExisting } = options as Readonly<Record<string, unknown>>;
  if ([useFactory, useClass, useExisting].filter(Boolean).length !== 1) {
    throw invalidOptions(`${place}: write exactly one of useFactory, useClass and useExisting`);
  }
}

/** Nest copies only own properties of the options, so inherited ones would be lost. */
function checkExtras(place: string, options: unknown, adviceFor: (options: unknown) => string): void {
  const prototype: unknown = Object.getPrototypeOf(Object(options));
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (typeof options !== 'object' || options === null || !isPlain) {
    // a string is most likely a URL, which may contain a password
    const given = typeof options === 'string' ? 'a string' : formatForLog(options);
    throw invalidOptions(`${place}: ${given} is not a plain object with options; ${adviceFor(options)}`);
  }
  const reader = new OptionReader(place, invalidOptions);
  const { global, globalGuard } = options as Readonly<Record<string, unknown>>;
  const mistakes = new Mistakes();
  for (const [option, value] of Object.entries({ global, globalGuard }))
    mistakes.attempt(() => reader.optional(option, value, BOOLEAN));
  mistakes.orThrow(undefined);
}

function adviceForRoot(options: unknown): string {
  if (typeof options === 'string') return "write forRoot({ redis: 'redis://host:6379' })";
  if (Array.isArray(options)) return `write forRoot({ ${rulesOfThrottler(options)} })`;
  if (isClient(options)) return 'write forRoot({ redis: client })';
  if (typeof options === 'function' || isPromise(options)) return adviceForRootAsync(options);
  return 'write forRoot({ … }), or pass a class as useClass of forRootAsync';
}

function adviceForRootAsync(options: unknown): string {
  return isClass(options)
    ? `write forRootAsync({ useClass: ${options.name} })`
    : 'write forRootAsync({ useFactory: () => options })';
}
