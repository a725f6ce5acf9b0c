import { BoundedMap } from '../core/bounded-map.js';
import { keyPrefix, windowPart } from '../core/counter-key.js';
import { CONCURRENCY } from '../core/counter-kind.js';
import type { FreqLimitError } from '../core/errors.js';
import { LEASE_TIMES } from '../core/leases.js';
import { COUNT, matching, type OptionReader } from '../core/validate.js';
import { isCalendar } from './any-window.js';
import type { CounterType } from './planned-rule.js';
import type { Algorithm } from './rule.js';
import { tokenBucket } from './rule-counters.js';
import { unitsOfBucket } from './rule-kind.js';
import { ServiceCalendars } from './service-calendars.js';
import type { CounterCheck } from './service-check-types.js';
import { type ServiceGroup, ServiceGroups, serviceId } from './service-groups.js';
import { readWindow } from './service-mistakes.js';
import { ALGORITHM } from './validators.js';

type Reader = OptionReader<FreqLimitError>;

/** Bounds the memory, if an application makes up names. */
const MAX_NAMES = 1_000;
const NAME = matching(
  /^[ !#-[\]-~]{1,64}$/,
  'a string of 1 to 64 printable ASCII characters without " and \\',
);

/** The counters of checks of `FreqLimitService` that name no rule. */
export class ServiceCounters {
  private readonly groups: Readonly<Record<Algorithm, ServiceGroups>>;
  private readonly calendars: ServiceCalendars;
  private readonly concurrency = new BoundedMap<unknown, CounterType>(MAX_NAMES);

  /**
   * @param standard the algorithm of a check without its own
   * @param onNewName called with the window of the first check with a name
   */
  constructor(
    private readonly namespace: string,
    private readonly standard: Algorithm,
    onNewName: (window: unknown) => void,
  ) {
    const groupsOf = (algorithm: Algorithm): ServiceGroups =>
      new ServiceGroups(namespace, onNewName, algorithm);
    this.groups = {
      'fixed-window': groupsOf('fixed-window'),
      'sliding-window': groupsOf('sliding-window'),
      'token-bucket': groupsOf('token-bucket'),
    };
    this.calendars = new ServiceCalendars(namespace);
  }

  /** What the counters of the check's name, window and algorithm have in common. Checks the name and the window. */
  of(check: CounterCheck, reader: Reader, needsLimit: boolean): CounterType {
    const { name, window } = check;
    if (isCalendar(window)) return this.withCalendar(name, window, reader);
    const algorithm = reader.optional('algorithm', check.algorithm, ALGORITHM) ?? this.standard;
    const { counter } = this.groups[algorithm].find(name, window) ?? this.add(check, algorithm, reader);
    return algorithm === 'token-bucket' ? bucketOf(check, counter, reader, needsLimit) : counter;
  }

  /** What the counters of a name with `concurrency` have in common. */
  ofConcurrency(name: unknown, reader: Reader): CounterType {
    const known = this.concurrency.get(name);
    if (known !== undefined) return known;
    const id = serviceId(reader.optional('name', name, NAME));
    const windowMs = LEASE_TIMES.lifeMs;
    const group = keyPrefix(this.namespace, id, windowPart(CONCURRENCY.type, windowMs));
    return this.concurrency.add(name, { group, windowMs, kind: CONCURRENCY });
  }

  private withCalendar(name: string | undefined, window: object, reader: Reader): CounterType {
    const known = this.calendars.find(name, window);
    if (known !== undefined) return known;
    reader.optional('name', name, NAME);
    return this.calendars.add(name, window, reader);
  }

  private add(check: CounterCheck, algorithm: Algorithm, reader: Reader): ServiceGroup {
    const { name, window } = check;
    reader.optional('name', name, NAME);
    return this.groups[algorithm].add(name, window, readWindow(check, reader));
  }
}

function bucketOf(
  check: CounterCheck,
  counter: CounterType,
  reader: Reader,
  needsLimit: boolean,
): CounterType {
  const limit = reader.optional('limit', check.limit, COUNT);
  const burst = reader.optional('burst', check.burst, COUNT);
  if (limit === undefined && needsLimit) {
    const whose = check.algorithm === undefined ? ', which is the algorithm of FreqLimitModule,' : '';
    throw reader.invalid('limit', `is missing; a token bucket${whose} refills by its limit`);
  }
  // without a limit, only the key is needed
  return { ...counter, kind: tokenBucket(unitsOfBucket(limit ?? 0, burst)) };
}
