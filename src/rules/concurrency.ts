import { LEASE_TIMES } from '../core/leases.js';
import type { OptionEntry } from '../core/option-table.js';
import { oneOf, type Validator } from '../core/validate.js';
import type { FromContext } from './key/key-types.js';
import type { HoldFor } from './rule.js';

export const HOLD_FOR: Validator<HoldFor> = oneOf('request', 'connection');

/** Names of other libraries for `concurrency`. */
export const CONCURRENCY_NAMES = [
  'concurrent',
  'maxConcurrent',
  'maxConcurrency',
  'maxParallel',
  'parallel',
  'simultaneous',
  'maxInFlight',
];
const ALL_NAMES = ['concurrency', ...CONCURRENCY_NAMES];

/** The options of a rule with `concurrency`. */
const POSSIBLE: ReadonlySet<string> = new Set([
  'concurrency',
  'holdFor',
  'key',
  'normalize',
  'name',
  'scope',
  'onMissingKey',
  'onStoreError',
  'skipIf',
  'shadow',
  'statusCode',
  'message',
  'hidden',
]);

const REASONS: Readonly<Record<string, string>> = {
  window: 'which counts what runs now',
  limit: 'which is the limit itself',
  cost: 'which counts each request once',
  countDenied: 'because a denied request does not run',
  countWhen: 'which counts each request while it runs',
};

/**
 * Why a rule or a check with `concurrency` does not have an option, and what to write instead.
 * @param noun what has the option
 */
export function impossibleWithConcurrency(option: string, noun: 'rule' | 'check'): string {
  const reason = REASONS[option] ?? 'which has no window';
  const isOfWindow = option === 'window' || option === 'limit';
  const instead = isOfWindow ? `, or write a second ${noun} with window and limit` : '';
  return `is not possible with concurrency, ${reason}; remove ${option}${instead}`;
}

/** Whether a value is meant as a rule or a check with `concurrency`, right or wrong. */
export function hasConcurrency(given: unknown): boolean {
  try {
    const options = Object(given) as Readonly<Record<string, unknown>>;
    return ALL_NAMES.some((name) => options[name] !== undefined);
  } catch {
    // a getter of the user may throw: it is read again with the other options, where its error gets a place
    return false;
  }
}

/** The entries of the options of a rule with `concurrency`: options that only other rules have say what to write instead. */
export function entriesWithConcurrency<Entries extends Readonly<Record<string, OptionEntry>>>(
  entries: Entries,
): Entries {
  const changed = Object.entries<OptionEntry>(entries).map(([name, entry]) =>
    POSSIBLE.has(name)
      ? [name, entry]
      : [name, impossible(name, 'default' in entry ? entry.default : undefined)],
  );
  return Object.fromEntries(changed) as Entries;
}

function impossible(name: string, value: unknown): OptionEntry {
  return {
    parse: () => {
      throw new TypeError(impossibleWithConcurrency(name, 'rule'));
    },
    default: value,
  };
}

/** The options that decide how a rule counts. */
interface CountingOptions {
  readonly concurrency: number | FromContext<unknown> | undefined;
  readonly window: unknown;
  readonly limit: unknown;
  readonly countDenied: boolean | undefined;
}

/** The same options, in which a rule with `concurrency` has the limit, and the life of a lease as its window. */
export function countingOptions<Options extends CountingOptions>(options: Options): Options {
  const { concurrency } = options;
  if (concurrency === undefined) return options;
  return { ...options, window: LEASE_TIMES.lifeMs, limit: concurrency, countDenied: false };
}
