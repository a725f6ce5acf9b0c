import { BoundedMap } from '../core/bounded-map.js';
import type { Block } from '../core/counter-kind.js';
import type { FreqLimitError } from '../core/errors.js';
import { Mistakes } from '../core/mistakes.js';
import { COUNT, type OptionReader } from '../core/validate.js';
import { blockOf, readBlockFor, readLength } from './block.js';
import { readConstantWindow } from './any-window.js';
import type { Algorithm } from './rule.js';
import { findContradictions } from './rule-kind.js';
import { isSimple } from './service-calendars.js';
import type { CounterCheck } from './service-check-types.js';
import { ALGORITHM } from './validators.js';

/** The options before they are checked. */
type UncheckedOptions = Partial<Record<'algorithm' | 'burst' | 'blockFor' | 'forgiveAfter', unknown>>;

/** Bounds the memory, if an application computes these options. */
const MAX_KNOWN = 1_000;

/**
 * The options `algorithm`, `burst`, `blockFor` and `forgiveAfter` of checks of `FreqLimitService`. Right ones are remembered, so
 * that they are checked once.
 */
export class ServiceKinds {
  private readonly known = new BoundedMap<string, { readonly block: Block | undefined }>(MAX_KNOWN);

  /** @param standard the algorithm of a check without its own */
  constructor(private readonly standard: Algorithm) {}

  /**
   * Checks these options of a check whose window is right.
   * @returns the block that the check begins if it crosses its limit
   */
  blockOf(check: CounterCheck, reader: OptionReader<FreqLimitError>): Block | undefined {
    const { algorithm, burst, blockFor, forgiveAfter } = check as UncheckedOptions;
    // most checks have none of them
    if (
      algorithm === undefined &&
      burst === undefined &&
      blockFor === undefined &&
      forgiveAfter === undefined
    )
      return undefined;
    const text = textOf(check);
    const known = text === undefined ? undefined : this.known.get(text);
    if (known !== undefined) return known.block;
    const block = this.read(check, reader);
    if (text !== undefined) this.known.add(text, { block });
    return block;
  }

  private read(check: CounterCheck, reader: OptionReader<FreqLimitError>): Block | undefined {
    const { window, blockFor, forgiveAfter } = check;
    const algorithm = reader.optional('algorithm', check.algorithm, ALGORITHM);
    const burst = reader.optional('burst', check.burst, COUNT);
    const stepsMs =
      blockFor === undefined ? undefined : reader.parsed('blockFor', () => readBlockFor(blockFor));
    const forgiveAfterMs =
      forgiveAfter === undefined ? undefined : reader.parsed('forgiveAfter', () => readLength(forgiveAfter));
    const errors = new Map<string, FreqLimitError>();
    const options = {
      window: readConstantWindow(window),
      ...{ algorithm, burst, blockFor: stepsMs, forgiveAfter: forgiveAfterMs },
      // they differ from call to call, and the store denies a cost that is too high
      ...{ limit: undefined, cost: undefined, maxShare: undefined, actualCost: undefined },
      ...{ concurrency: undefined, holdFor: undefined },
    };
    findContradictions(options, errors, reader, this.standard);
    return new Mistakes(errors.values()).orThrow(blockOf(stepsMs, forgiveAfterMs));
  }
}

/** Distinguishes the options; `undefined` for odd values, which are then checked each time. */
function textOf({ window, algorithm, burst, blockFor, forgiveAfter }: CounterCheck): string | undefined {
  const steps: readonly unknown[] = Array.isArray(blockFor) ? blockFor : [blockFor];
  const values = [algorithm, burst, forgiveAfter, ...steps];
  if (!values.every(isSimple)) return undefined;
  return JSON.stringify([typeof window === 'object', Array.isArray(blockFor), ...values]);
}
