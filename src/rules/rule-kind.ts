import type { CounterKind } from '../core/counter-kind.js';
import type { FreqLimitError } from '../core/errors.js';
import { quoted } from '../core/errors.js';
import type { OptionReader } from '../core/validate.js';
import type { AnyWindow } from './any-window.js';
import { unitsOfShare } from './max-share.js';
import type { Algorithm, FromContext, HoldFor } from './rule.js';

/** Read options of a rule or a check that decide how its counter counts; `undefined` for one that is not given or wrong. */
export interface KindOptions {
  /** A length in milliseconds, a function that returns one, or a calendar. */
  readonly window: AnyWindow | undefined;
  readonly algorithm: Algorithm | undefined;
  readonly burst: number | FromContext<unknown> | undefined;
  readonly limit: number | FromContext<unknown> | undefined;
  readonly cost: number | FromContext<unknown> | undefined;
  readonly actualCost: unknown;
  readonly maxShare: number | undefined;
  readonly blockFor: readonly number[] | undefined;
  readonly forgiveAfter: number | undefined;
  readonly concurrency: number | FromContext<unknown> | undefined;
  readonly holdFor: HoldFor | undefined;
}

type KindOption = keyof KindOptions;

/** How the counters of a rule count. */
export type KindName = CounterKind['type'];

/** Options that are right by themselves, but not together. */
interface Contradiction {
  /** The one that the message is about. */
  readonly option: KindOption;
  readonly others: readonly KindOption[];
  /** Says what is wrong and what to write; `undefined` if nothing is wrong. */
  readonly problemIn: (options: KindOptions, kind: KindName) => string | undefined;
}

const UNTIL_END = 'is not possible with a calendar window, which counts until its period ends';

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    option: 'algorithm',
    others: ['window'],
    problemIn: ({ algorithm }, kind) =>
      kind === 'calendar' && algorithm !== undefined
        ? `${quoted(algorithm)} ${UNTIL_END}; remove algorithm, or write a window of a length, such as '30d'`
        : undefined,
  },
  { option: 'burst', others: ['window', 'algorithm'], problemIn: burstWithoutBucket },
  {
    option: 'blockFor',
    others: ['window'],
    problemIn: ({ blockFor }, kind) =>
      kind === 'calendar' && blockFor !== undefined
        ? 'is not possible with a calendar window, which denies a client until its period ends; remove blockFor, or write a ' +
          "window of a length, such as '1d'"
        : undefined,
  },
  {
    option: 'forgiveAfter',
    others: ['blockFor'],
    problemIn: ({ blockFor, forgiveAfter }) =>
      forgiveAfter !== undefined && blockFor === undefined
        ? 'is only possible with blockFor; add that, or remove forgiveAfter'
        : undefined,
  },
  {
    option: 'holdFor',
    others: ['concurrency'],
    problemIn: ({ concurrency, holdFor }) =>
      holdFor !== undefined && concurrency === undefined
        ? 'is only possible with concurrency; add that, or remove holdFor'
        : undefined,
  },
  { option: 'cost', others: ['algorithm', 'burst', 'limit', 'window'], problemIn: costAboveBurst },
  {
    option: 'cost',
    others: ['maxShare', 'algorithm', 'burst', 'limit', 'window'],
    problemIn: costAboveShare,
  },
  {
    option: 'actualCost',
    others: ['cost'],
    problemIn: ({ actualCost, cost }) =>
      actualCost !== undefined && cost === 0
        ? 'is not possible with cost: 0, which charges nothing that could be settled; write an estimate of at least 1 as cost'
        : undefined,
  },
  { option: 'burst', others: ['algorithm', 'limit', 'window'], problemIn: endlessBucket },
];

/** How the counters of a rule with these options count. */
export function kindOf(
  { window, algorithm, concurrency }: Pick<KindOptions, 'window' | 'algorithm' | 'concurrency'>,
  standard: Algorithm,
): KindName {
  if (concurrency !== undefined) return 'concurrency';
  return typeof window === 'object' ? 'calendar' : (algorithm ?? standard);
}

/**
 * Finds options that contradict each other.
 * @param errors of wrong options; gets the errors that are found
 * @param standard the algorithm of a rule without its own
 */
export function findContradictions(
  options: KindOptions,
  errors: Map<string, FreqLimitError>,
  reader: OptionReader<FreqLimitError>,
  standard: Algorithm,
): void {
  const kind = kindOf(options, standard);
  for (const { option, others, problemIn } of CONTRADICTIONS) {
    if ([option, ...others].some((name) => errors.has(name))) continue;
    const problem = problemIn(options, kind);
    if (problem !== undefined) errors.set(option, reader.invalid(option, problem));
  }
}

/** The module's algorithm is not enough: a rule says itself what its options mean. */
function burstWithoutBucket({ burst, algorithm }: KindOptions, kind: KindName): string | undefined {
  if (burst === undefined || algorithm === 'token-bucket') return undefined;
  if (kind === 'calendar') return `${UNTIL_END}; remove burst`;
  return "is only possible with algorithm: 'token-bucket'; add that, or remove burst";
}

/** The units of a full bucket. A limit of 0 denies every request, whatever the burst is: nothing would ever refill. */
export function unitsOfBucket(limit: number, burst: number | undefined): number {
  return limit === 0 ? 0 : (burst ?? limit);
}

/** The units of a full bucket, as far as they are known at start-up. */
function knownUnits({ burst, limit }: KindOptions, kind: KindName): number | undefined {
  if (kind !== 'token-bucket') return undefined;
  const units = limit === 0 ? 0 : (burst ?? limit);
  return typeof units === 'number' ? units : undefined;
}

function costAboveBurst(options: KindOptions, kind: KindName): string | undefined {
  const { cost, burst, algorithm } = options;
  const units = knownUnits(options, kind);
  // with 0, denying every request is what the user wants
  if (units === undefined || units === 0 || typeof cost !== 'number' || cost <= units) return undefined;
  const name = burst === undefined ? `the burst, which is the limit of ${units}` : `the burst of ${units}`;
  // a rule with the module's algorithm must have its own before it may have a burst
  const more = algorithm === undefined ? `algorithm: 'token-bucket', burst: ${cost}` : `burst: ${cost}`;
  return `${cost} is above ${name}, so no request would ever pass; write a lower cost, or ${more}`;
}

function costAboveShare(options: KindOptions, kind: KindName): string | undefined {
  const { cost, limit, maxShare } = options;
  const units = kind === 'token-bucket' ? knownUnits(options, kind) : limit;
  if (maxShare === undefined || typeof cost !== 'number' || typeof units !== 'number') return undefined;
  const most = unitsOfShare(units, maxShare);
  if (units === 0 || cost <= most) return undefined;
  return (
    `${cost} is above the maxShare of ${maxShare}, which is ${most} of ${units}, so no request would ever pass; write a lower ` +
    'cost or a higher maxShare'
  );
}

function endlessBucket(options: KindOptions, kind: KindName): string | undefined {
  const { window, limit } = options;
  const units = knownUnits(options, kind);
  if (units === undefined || units === 0 || typeof window !== 'number' || typeof limit !== 'number')
    return undefined;
  if (units / limit <= Number.MAX_SAFE_INTEGER / window) return undefined;
  return `a bucket of ${units} units would need more than 2^53 - 1 ms to fill; write a lower burst, a higher limit or a shorter window`;
}
