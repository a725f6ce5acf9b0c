import { jest } from '@jest/globals';
import type { Check } from '../../../src/core/check.js';
import { ruleId } from '../../../src/core/counter-key.js';
import { plainKey } from '../../../src/core/key-hash.js';
import { planOf } from '../../../src/rules/plan.js';
import type { Algorithm } from '../../../src/rules/rule.js';
import { ServiceChecks } from '../../../src/rules/service-checks.js';
import type { ServiceMethod } from '../../../src/rules/service-mistakes.js';
import { DEFAULTS, declared, thrownBy } from '../fixtures.js';

type Parts = Readonly<Record<string, unknown>>;

const MODULE = { className: '', classIdentity: '', handler: undefined };

/** Rules of the module. */
const RULES: readonly Parts[] = [
  { name: 'sliding', algorithm: 'sliding-window', blockFor: '1h' },
  { name: 'bucket', algorithm: 'token-bucket', burst: 9 },
  { name: 'bucketOfFunctions', algorithm: 'token-bucket', burst: () => 9, limit: () => 5 },
  { name: 'month', window: { calendar: 'month', timeZone: 'Europe/Berlin' } },
  { name: 'day', window: { calendar: 'day', timeZone: () => 'UTC' } },
  { name: 'fixed' },
];

function serviceChecks(algorithm: Algorithm = 'fixed-window'): ServiceChecks {
  const rules = RULES.map((rule) => declared({ window: '1m', limit: 5, key: '{user.id}', ...rule }, 'app'));
  const plan = planOf([{ rules, skip: undefined }], MODULE, DEFAULTS);
  const options = { ...DEFAULTS, hashKey: plainKey, algorithm, ipv6Subnet: 64 };
  return new ServiceChecks(options, () => plan!.rules);
}

function resolve(check: Parts, method: ServiceMethod = 'consume', service = serviceChecks()): Check {
  return service.resolve({ key: 'ann', ...(check as { rule: string }) }, method)[0]!;
}

const CHECK = { window: '1m', limit: 5 };
const BUCKET = { ...CHECK, algorithm: 'token-bucket' };
const MONTH = { window: { calendar: 'month' }, limit: 5 };
const ID = ruleId('service', ['service', undefined]);

describe('a check of a counter of its own', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: Date.parse('2026-03-15T12:00:00Z') });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each<[string, Parts, Parts]>([
    ['60000', CHECK, { windowMs: 60_000, kind: { type: 'fixed-window' } }],
    ['60000s', { ...CHECK, algorithm: 'sliding-window' }, { kind: { type: 'sliding-window' } }],
    ['60000b', BUCKET, { kind: { type: 'token-bucket', burst: 5 } }],
    ['60000b', { ...BUCKET, burst: 9 }, { limit: 5, kind: { type: 'token-bucket', burst: 9 } }],
    ['60000b', { ...BUCKET, limit: 0, burst: 9 }, { kind: { type: 'token-bucket', burst: 0 } }],
    [
      'month@utc',
      MONTH,
      { windowMs: 31 * 86_400_000, kind: { endsAtMs: Date.parse('2026-04-01T00:00:00Z') } },
    ],
    [
      'month+15@europe/berlin',
      { window: { calendar: 'month', startsAt: 15, timeZone: 'Europe/Berlin' } },
      { limit: Infinity, kind: { endsAtMs: Date.parse('2026-04-14T22:00:00Z') } },
    ],
  ])('has keys with the window %s: %j', (window, check, parts) => {
    const group = `fl:${ID}:${window}:`;
    expect(resolve(check)).toMatchObject({ ...parts, group, key: `${group}ann`, block: undefined });
    expect(resolve(check, 'reset').key).toBe(`${group}ann`);
  });

  it('has the same counter in each call, and another one for each name', () => {
    const service = serviceChecks();
    const of = (parts: Parts): Check => resolve({ ...MONTH, ...parts }, 'consume', service);
    expect(of({}).kind).toBe(of({}).kind);
    expect(of({ window: { calendar: 'month', timeZone: undefined } }).key).toBe(of({}).key);
    const others = [{}, { name: 'a' }, { window: { calendar: 'month', startsAt: 2 } }, CHECK, BUCKET];
    expect(new Set(others.map((parts) => of(parts).key)).size).toBe(others.length);
    jest.setSystemTime(Date.parse('2026-04-01T00:00:00Z'));
    expect(of({}).kind).toMatchObject({ endsAtMs: Date.parse('2026-05-01T00:00:00Z') });
  });

  it('has a block, the same in each call', () => {
    const service = serviceChecks();
    const blockOf = (parts: Parts): Check['block'] =>
      resolve({ ...CHECK, ...parts }, 'consume', service).block;
    const block = blockOf({ blockFor: ['1m', '1h'], forgiveAfter: '2d' });
    expect(block).toEqual({ stepsMs: [60_000, 3_600_000], forgiveAfterMs: 172_800_000 });
    expect(blockOf({ blockFor: ['1m', '1h'], forgiveAfter: '2d' })).toBe(block);
    for (const parts of [{ cost: 6 }, { limit: 0 }, { limit: undefined }])
      expect(blockOf({ blockFor: '1h', ...parts })).toBeDefined();
  });

  it('has the algorithm of the module, unless it has its own or a calendar', () => {
    const sliding = serviceChecks('sliding-window');
    expect(resolve(CHECK, 'consume', sliding).kind.type).toBe('sliding-window');
    expect(resolve({ ...CHECK, algorithm: 'fixed-window' }, 'consume', sliding).kind.type).toBe(
      'fixed-window',
    );
    expect(resolve(MONTH, 'consume', sliding).kind.type).toBe('calendar');
    const bucket = serviceChecks('token-bucket');
    expect(resolve({ window: '1m' }, 'reset', bucket).group).toMatch(/:60000b:$/);
    expect(thrownBy(() => resolve({ window: '1m' }, 'consume', bucket)).message).toBe(
      'consume: check: limit: is missing; a token bucket, which is the algorithm of FreqLimitModule, refills by its limit',
    );
  });

  it.each<[Parts, string]>([
    [{ window: '1m', algorithm: 'token-bucket' }, 'limit: is missing; a token bucket refills by its limit'],
    [
      { ...CHECK, algorithm: 'gcra' },
      "algorithm: \"gcra\" is not one of 'fixed-window', 'sliding-window', 'token-bucket'",
    ],
    [
      { ...MONTH, algorithm: 'sliding-window' },
      "algorithm: 'sliding-window' is not possible with a calendar window, which counts until its period ends; remove " +
        "algorithm, or write a window of a length, such as '30d'",
    ],
    [
      { ...MONTH, blockFor: '1h' },
      'blockFor: is not possible with a calendar window, which denies a client until its period ends; remove blockFor, or ' +
        "write a window of a length, such as '1d'",
    ],
    [
      { ...CHECK, burst: 5 },
      "burst: is only possible with algorithm: 'token-bucket'; add that, or remove burst",
    ],
    [{ ...BUCKET, burst: 5n }, 'burst: 5n is not a whole number from 0 to 2^53 - 1'],
    [{ ...BUCKET, burst: () => 5 }, 'burst: [function burst] is not a whole number from 0 to 2^53 - 1'],
    [
      { ...CHECK, forgiveAfter: '1d' },
      'forgiveAfter: is only possible with blockFor; add that, or remove forgiveAfter',
    ],
    [{ ...CHECK, blockFor: 0 }, 'blockFor: 0 is not a length of time; expected a string with a unit'],
    [{ ...CHECK, blockFor: '' }, 'blockFor: "" is not a length of time; expected a string with a unit'],
    [{ ...CHECK, blockFor: [] }, 'blockFor: a list of 0 lengths is not possible'],
    [{ ...CHECK, blockFor: ['1h', '1m'] }, 'blockFor: "1m" is shorter than "1h" before it'],
    [
      { window: { calendar: 'month', timeZone: () => 'UTC' } },
      'window: timeZone: a function is not possible here, where no request is; write the name',
    ],
    [{ window: { calendar: 'month', timezone: 'UTC' } }, 'window: timezone: is not an option of a window'],
    [{ ...CHECK, timeZone: 'UTC' }, 'timeZone: is not an option; it belongs in the window'],
    [{ ...MONTH, name: '' }, 'name: "" is not a string of 1 to 64 printable ASCII characters'],
  ])('is wrong, also in a second call: %j', (check, message) => {
    const service = serviceChecks();
    resolve(CHECK, 'consume', service);
    resolve(MONTH, 'consume', service);
    for (let i = 0; i < 2; i++) {
      const error = thrownBy(() => resolve(check, 'consume', service));
      expect(error.code).toBe('FREQ_LIMIT_INVALID_CHECK');
      expect(error.message).toContain(`consume: check: ${message}`);
    }
  });

  it('may cost more than the burst: then it is denied', () => {
    expect(resolve({ ...BUCKET, burst: 2, cost: 3 })).toMatchObject({ cost: 3, kind: { burst: 2 } });
  });
});

describe('a check of a rule', () => {
  const bucket = { rule: 'bucketOfFunctions' };

  it('has the kind and the block of the rule', () => {
    expect(resolve({ rule: 'sliding' })).toMatchObject({
      kind: { type: 'sliding-window' },
      block: { stepsMs: [3_600_000] },
    });
    expect(resolve({ rule: 'sliding', cost: 6 }).block).toBeDefined();
    expect(resolve({ rule: 'bucket' }).kind).toEqual({ type: 'token-bucket', burst: 9 });
    expect(resolve({ rule: 'month' })).toMatchObject({
      kind: { type: 'calendar' },
      group: expect.stringMatching(/:month@europe\/berlin:$/),
    });
  });

  it('takes the values that the rule gets from functions', () => {
    expect(resolve({ ...bucket, limit: 3, burst: 7 })).toMatchObject({ limit: 3, kind: { burst: 7 } });
    expect(resolve({ ...bucket, limit: 0, burst: 7 })).toMatchObject({ kind: { burst: 0 } });
    expect(resolve({ rule: 'bucket', burst: 7 })).toMatchObject({ kind: { burst: 7 } });
    expect(resolve({ rule: 'bucket', limit: 7 })).toMatchObject({ limit: 7, kind: { burst: 9 } });
    expect(resolve({ rule: 'bucket', limit: 0 })).toMatchObject({ kind: { burst: 0 } });
    expect(resolve(bucket, 'reset').key).toBe(resolve({ ...bucket, limit: 3, burst: 7 }).key);
    expect(resolve({ rule: 'day', timeZone: 'Asia/Tokyo' }).group).toMatch(/:day@asia\/tokyo:$/);
  });

  it.each<[Parts, string]>([
    [
      { ...bucket, limit: 3 },
      'burst: is missing; the burst of the rule "bucketOfFunctions" is a function, so pass a number',
    ],
    [
      { ...bucket, burst: 3 },
      'limit: is missing; the limit of the rule "bucketOfFunctions" is a function, so pass a number',
    ],
    [{ rule: 'fixed', burst: 3 }, 'burst: the rule "fixed" is not a token bucket; remove this option'],
    [
      { rule: 'day' },
      'timeZone: is missing; the time zone of the rule "day" is a function, so pass its name',
    ],
    [{ rule: 'day', timeZone: 'Mars' }, 'timeZone: "Mars" is not a time zone'],
    [{ rule: 'day', timeZone: '' }, 'timeZone: "" is not a string of at least one character'],
    [
      { rule: 'day', timeZone: 'UTC', window: '1d' },
      'window: the rule "day" has its own window; remove this option',
    ],
    [
      { rule: 'month', timeZone: 'UTC' },
      'timeZone: the rule "month" has its own time zone; remove this option',
    ],
    [{ rule: 'fixed', timeZone: 'UTC' }, 'timeZone: the rule "fixed" has no calendar; remove this option'],
    [
      { rule: 'fixed', algorithm: 'sliding-window' },
      'algorithm: is not an option; leave it out: the rule has its own',
    ],
    [{ rule: 'fixed', blockFor: '1h' }, 'blockFor: is not an option; leave it out: the rule has its own'],
  ])('is wrong: %j', (check, message) => {
    expect(thrownBy(() => resolve(check)).message).toContain(`consume: check: ${message}`);
  });
});
