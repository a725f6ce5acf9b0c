import type { ModulesContainer } from '@nestjs/core';
import { invalidOptions } from '../core/errors.js';
import { FREQ_LIMIT_STORE } from '../core/tokens.js';
import { importsOf } from './nest-metadata.js';

const ONCE =
  'Call forRoot once, in the root module. Other modules need no import; with global: false they import the same object that ' +
  'forRoot returned';

/**
 * Stops an application that registers `FreqLimitModule` twice.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` naming the modules that import it
 */
export function requireSingleRegistration(modules: ModulesContainer): void {
  const registered = registeredIn(modules);
  if (registered.length < 2) return;
  const names = importersOf(modules, (entry) => registered.includes(moduleOf(entry)));
  throw invalidOptions(
    `FreqLimitModule is registered ${registered.length} times in one application, by ${names}. ${ONCE}`,
  );
}

/**
 * Stops an application that imports `FreqLimitModule` without `forRoot`.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` naming the modules that import it
 */
export function rejectBareImport(modules: ModulesContainer): never {
  const registered = registeredIn(modules);
  const names = importersOf(modules, (entry) => registered.includes(entry));
  throw invalidOptions(`FreqLimitModule is imported without forRoot, by ${names}. ${ONCE}`);
}

/** The classes of all registrations. Found by what they provide: the module of another copy of this package is another class. */
function registeredIn(modules: ModulesContainer): unknown[] {
  const registrations = [...modules.values()].filter(({ providers }) => providers.has(FREQ_LIMIT_STORE));
  return registrations.map(({ metatype }) => metatype);
}

/** The names of the modules with such an entry among their imports. */
function importersOf(modules: ModulesContainer, isIt: (entry: unknown) => boolean): string {
  const importers = [...modules.values()].filter(({ metatype }) => importsOf(metatype).some(isIt));
  return importers.map(({ metatype }) => metatype.name).join(' and ') || 'dynamic modules';
}

/** The class of a dynamic module. */
function moduleOf(entry: unknown): unknown {
  return (Object(entry) as { readonly module?: unknown }).module;
}
