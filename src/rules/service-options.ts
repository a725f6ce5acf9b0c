import { invalidCheck } from '../core/errors.js';
import { OptionTable } from '../core/option-table.js';
import { BOOLEAN, OptionReader } from '../core/validate.js';
import { tooManyArguments } from './service-mistakes.js';

/** Options of `FreqLimitService.consume`. */
export interface ConsumeOptions {
  /**
   * Whether the verdict gets the function `settle`, for a real cost that is known only afterwards. `cost` of the checks is then an
   * estimate of at least 1.
   * @default false
   */
  readonly settle?: boolean | undefined;
}

const OPTIONS = new OptionTable({ settle: { validator: BOOLEAN, default: false } }, { refund: 'settle' });
const READER = new OptionReader('consume: options', invalidCheck);

/**
 * Reads the second argument of `consume`. Other libraries have other arguments there.
 * @param checks the first one
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK`
 */
export function readConsumeOptions(options: unknown, checks: unknown): { readonly settle: boolean } {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  if (!isObject || 'key' in options || typeof checks !== 'object')
    throw tooManyArguments('consume', checks, options);
  return OPTIONS.read(options, READER);
}
