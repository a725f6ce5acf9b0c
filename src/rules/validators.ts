import type { OnStoreError } from '../core/check.js';
import { aFunction, either, matching, oneOf, type Validator } from '../core/validate.js';
import { compileKey } from './key/compile-key.js';
import type { Algorithm, DenialMessage, FromContext, KeySpec, OnMissingKey, Scope } from './rule.js';

// checks of options that rules share with the module and with the checks of the service

export const SCOPE: Validator<Scope> = oneOf('handler', 'controller', 'app');
export const ON_MISSING_KEY: Validator<OnMissingKey> = oneOf('ip', 'skip', 'deny');
export const ON_STORE_ERROR: Validator<OnStoreError> = oneOf('memory', 'allow', 'deny');
export const ALGORITHM: Validator<Algorithm> = oneOf('fixed-window', 'sliding-window', 'token-bucket');
export const FROM_CONTEXT = aFunction<FromContext<unknown>>();
export const MESSAGE: Validator<DenialMessage> = either(
  matching(/\S/, 'a string with visible characters'),
  aFunction<Exclude<DenialMessage, string>>(),
);
export const RULE_NAME = matching(
  /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
  'a name of 1 to 64 characters A-Z a-z 0-9 _ . - that begins with a letter or a digit',
);

/**
 * Checks a key and returns it as it is: it is compiled for each rule, together with the rule's `normalize`.
 * @throws {TypeError} for a value that is not a key
 */
export function checkKey(key: unknown): KeySpec {
  compileKey(key);
  return key as KeySpec;
}
