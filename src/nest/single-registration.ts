import type { ModulesContainer } from '@nestjs/core';
import { FreqLimitError } from '../core/errors.js';
import { FREQ_LIMIT_STORE } from '../core/tokens.js';
import { importsOf } from './nest-metadata.js';

/**
 * Stops an application that registers `FreqLimitModule` twice.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_OPTIONS` naming the modules that import it
 */
export function requireSingleRegistration(modules: ModulesContainer): void {
  const all = [...modules.values()];
  // found by what it provides: the module of another copy of this package is another class
  const registered = all
    .filter(({ providers }) => providers.has(FREQ_LIMIT_STORE))
    .map(({ metatype }) => metatype as unknown);
  if (registered.length < 2) return;
  const importers = all.filter(({ metatype }) =>
    importsOf(metatype).some((entry) => registered.includes(moduleOf(entry))),
  );
  const names = importers.map(({ metatype }) => metatype.name).join(' and ') || 'dynamic modules';
  throw new FreqLimitError(
    'FREQ_LIMIT_INVALID_OPTIONS',
    `FreqLimitModule is registered ${registered.length} times in one application, by ${names}. Register it once.`,
  );
}

/** The class of a dynamic module. */
function moduleOf(entry: unknown): unknown {
  return (Object(entry) as { readonly module?: unknown }).module;
}
