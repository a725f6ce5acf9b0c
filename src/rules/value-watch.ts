import type { Log } from '../core/log.js';
import type { LimitedRequest } from '../core/request.js';
import type { CompiledKey } from './key/key-types.js';
import type { OnMissingKey, Scope } from './rule.js';
import { labelOf } from './rule-label.js';
import { canLackValues, type ValueKind, type WatchedValue, watchedValues } from './watched-values.js';

/** The part of a planned rule that a watch needs. */
export interface WatchedRule {
  readonly place: string;
  readonly name: string;
  readonly level: Scope;
  readonly key: CompiledKey;
  readonly onMissingKey: OnMissingKey;
  readonly shadow: boolean;
  /** Watches the first requests; `undefined` when it is over. */
  valueWatch: ValueWatch | undefined;
}

/** After this many requests of a handler or a controller, a value that none of them had is worth a line. */
const FEW = 20;
/** For the module's rules, because not all handlers have all values, and for users, because many requests are anonymous. */
const MANY = 500;

const WITHOUT_VALUE = {
  ip: 'counted by IP address',
  skip: 'not counted by this rule',
  deny: 'denied with status 400',
} as const;

const PROBLEMS: Record<ValueKind, (requests: string, name: string) => string> = {
  field: (requests, name) => `none of the first ${requests} had ${name}`,
  'user field': (requests, name) => `none of the first ${requests} with a user had ${name}`,
  user: (requests, name) => `none of the first ${requests} had a user for ${name}`,
  function: (requests, name) => `${name} returned no value for the first ${requests}`,
};

const CHECK_NAME =
  'Check the name, and that the value is set before FreqLimitGuard runs. If clients may leave it out, there is nothing to do.';

const ADVICE: Record<ValueKind, string> = {
  field: CHECK_NAME,
  'user field': CHECK_NAME,
  user:
    'Let the guard or middleware that sets request.user run before FreqLimitGuard. If only anonymous clients have called, ' +
    'there is nothing to do.',
  function:
    'Check that it returns a string or a number. If it returns nothing on purpose, there is nothing to do.',
};

interface CountedValue extends WatchedValue {
  readonly enough: number;
  /** How many requests had no value. */
  count: number;
}

/**
 * Watches the first requests of a rule, until each value of its key has come once. If none of them has a value, a line says
 * so: most likely its name is misspelled, or it is set too late.
 */
export class ValueWatch {
  /** The values that no request has had yet. Read at the first request without one: of most rules, no request lacks one. */
  private unseen: readonly CountedValue[] | undefined;

  constructor(private readonly log: Pick<Log, 'warn'>) {}

  /** Whether there is nothing more to watch. */
  get isOver(): boolean {
    return this.unseen?.length === 0;
  }

  /** Call it for each request of a rule that has this watch. Handlers may share it, each with its own copy of the rule. */
  see(rule: WatchedRule, hasKey: boolean, request: LimitedRequest): void {
    if (hasKey) this.unseen = [];
    else this.count(rule, request);
    if (this.isOver) rule.valueWatch = undefined;
  }

  private count(rule: WatchedRule, request: LimitedRequest): void {
    const unseen = (this.unseen ?? countedValues(rule)).filter((value) => {
      const isIn = value.isIn(request);
      if (isIn === false) value.count++;
      return isIn !== true;
    });
    this.unseen = unseen;
    const missing = unseen.filter(({ count, enough }) => count >= enough);
    const [first] = missing;
    if (first === undefined) return;
    this.unseen = [];
    const names = missing.filter(({ kind }) => kind === first.kind).map(({ name }) => name);
    this.log.warn('FREQ_LIMIT_VALUE_ALWAYS_MISSING', textOf(rule, first, names.join(' or ')));
  }
}

function countedValues({ key, level }: WatchedRule): CountedValue[] {
  return watchedValues(key).map((value) => ({
    ...value,
    enough: level === 'app' || value.kind === 'user' ? MANY : FEW,
    count: 0,
  }));
}

function textOf(rule: WatchedRule, { kind, enough }: CountedValue, name: string): string {
  const problem = PROBLEMS[kind](`${enough} requests`, name);
  return `${labelOf(rule)}: ${problem}, so they were ${effectOfMissingValue(rule)}. ${ADVICE[kind]}`;
}

/** What happens to a request without a value, for messages. */
export function effectOfMissingValue({
  onMissingKey,
  shadow,
}: Pick<WatchedRule, 'onMissingKey' | 'shadow'>): string {
  // a shadow rule denies nothing
  return WITHOUT_VALUE[shadow && onMissingKey === 'deny' ? 'skip' : onMissingKey];
}

/** The watches of all rules of an application. */
export class ValueWatches {
  private readonly watches = new Map<unknown, ValueWatch>();

  constructor(private readonly log: Pick<Log, 'warn'>) {}

  /** The watch of a rule, one for all handlers that its declaration applies to; `undefined` if there is nothing to watch. */
  of(rule: WatchedRule): ValueWatch | undefined {
    if (!canLackValues(rule.key)) return undefined;
    const id = identityOf(rule);
    const watch = this.watches.get(id) ?? new ValueWatch(this.log);
    this.watches.set(id, watch);
    return watch.isOver ? undefined : watch;
  }
}

/** A key function is one value for all rules that have it, such as the module's `defaultKey`. */
function identityOf({ place, name, key }: WatchedRule): unknown {
  const [first, ...others] = key.sources;
  return typeof first === 'function' && others.length === 0 ? first : JSON.stringify([place, name, key.spec]);
}
