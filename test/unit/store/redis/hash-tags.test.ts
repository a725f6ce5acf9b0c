import calculateSlot from 'cluster-key-slot';
import fc from 'fast-check';
import type { Check } from '../../../../src/core/check.js';
import { encodeParts, keyPrefix, ruleId } from '../../../../src/core/counter-key.js';
import { type HashTag, HashTags } from '../../../../src/store/redis/hash-tags.js';
import { check } from '../../../support/check.js';
import { thrownBy } from '../../fixtures.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A check as a rule makes it. */
function ruleCheck(rule: string, windowMs: number, ...values: string[]): Check {
  const group = keyPrefix('fl', ruleId(rule, [rule]), windowMs);
  return check(group + encodeParts(values), { group, windowMs, name: rule });
}

function placed(options: { buckets?: number; hashTag?: HashTag; namespace?: string } = {}): HashTags {
  const { buckets = 256, hashTag, namespace = 'fl' } = options;
  return new HashTags({ namespace, buckets, hashTag });
}

/** Pearson's: about the number of cells less one where all of them are alike. */
function chiSquare(tags: readonly string[], buckets: number): number {
  const counts = new Map<string, number>();
  for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const expected = tags.length / buckets;
  let sum = (buckets - counts.size) * expected;
  for (const count of counts.values()) sum += (count - expected) ** 2 / expected;
  return sum;
}

describe('the hash tag of a counter', () => {
  it('is one for all counters of a subject: any rule, any window', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 3 }), (values) => {
        const placement = placed();
        const tags = [
          ruleCheck('sms', MINUTE_MS, ...values),
          ruleCheck('sms', DAY_MS, ...values),
          ruleCheck('a rule of another name', 1, ...values),
        ].map((one) => placement.tagOf(one));
        expect(new Set(tags).size).toBe(1);
      }),
    );
  });

  it('is a number below that of the buckets', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 16_384 }), (value, buckets) => {
        const tag = placed({ buckets }).tagOf(ruleCheck('sms', MINUTE_MS, value));
        expect(tag).toMatch(/^\d+$/);
        expect(Number(tag)).toBeLessThan(buckets);
      }),
    );
  });

  it('is the same in every process', () => {
    const placement = placed();
    const subjects = ['203.0.113.7', '+4915112345678', 'user-1', '@'];
    expect(subjects.map((subject) => placement.tagOf(ruleCheck('sms', MINUTE_MS, subject)))).toEqual(
      subjects.map((subject) => placed().tagOf(ruleCheck('sms', DAY_MS, subject))),
    );
    // counters would be left behind by a version that spreads them anew: change this with a reason only
    expect(placement.tagOf(ruleCheck('sms', MINUTE_MS, 'user-1'))).toBe('210');
  });

  it.each<[string, (n: number) => string]>([
    ['phone numbers', (n) => `+49151${10_000_000 + n}`],
    ['addresses', (n) => `10.0.${n >> 8}.${n & 255}`],
    ['networks of IPv6', (n) => `2001:db8:${n.toString(16)}::`],
    ['numbers', (n) => String(n)],
    ['numbers a hundred apart', (n) => String(100 * n)],
    ['mail addresses', (n) => `user${n}@example.org`],
    ['what is hashed', (n) => `name with blanks ${n}`],
  ])('spreads 10,000 %s evenly over 256', (_, subjectOf) => {
    const placement = placed();
    const tags = Array.from({ length: 10_000 }, (__, n) =>
      placement.tagOf(ruleCheck('sms', MINUTE_MS, subjectOf(n))),
    );
    expect(new Set(tags).size).toBe(256);
    // 255 on the average; by chance alone 360 is met once in 60,000 times
    expect(chiSquare(tags, 256)).toBeLessThan(360);
  });

  it('spreads over all the shards of a Cluster', () => {
    const placement = placed();
    const shards = [0, 0, 0];
    for (let n = 0; n < 3_000; n++) {
      const slot = calculateSlot(placement.keyOf(ruleCheck('sms', MINUTE_MS, `user-${n}`)));
      shards[Math.floor((slot * 3) / 16_384)]!++;
    }
    for (const count of shards) expect(count).toBeGreaterThan(600);
  });
});

describe('the key of a counter', () => {
  it('has the tag behind the namespace, and is else as it was', () => {
    const one = ruleCheck('sms', MINUTE_MS, 'user-1');
    const tag = placed().tagOf(one);
    expect(placed().keyOf(one)).toBe(`fl:{${tag}}${one.key.slice(2)}`);
    expect(placed().keyOf(one)).toMatch(/^fl:\{\d+\}:sms~[\w-]{10}:60000:user-1$/);
  });

  it('lies in the slot of its tag, whatever the subject is', () => {
    const nasty = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('{', '}', 'a', ':', '|', '\n') }),
    );
    fc.assert(
      fc.property(fc.array(nasty, { minLength: 1, maxLength: 3 }), (values) => {
        const placement = placed();
        const keys = [MINUTE_MS, DAY_MS].map((windowMs) => ruleCheck('sms', windowMs, ...values));
        const tag = placement.tagOf(keys[0]!);
        for (const one of keys) {
          const key = placement.keyOf(one);
          expect(key.match(/[{}]/g)).toEqual(['{', '}']);
          expect(key.startsWith(`fl:{${tag}}:sms`)).toBe(true);
          expect(calculateSlot(key)).toBe(calculateSlot(tag));
        }
      }),
    );
  });

  it('has nothing of a caller before its tag, even where a key would hold braces', () => {
    const hostile = check('fl:r:60000:{evil}', { group: 'fl:r:60000:' });
    const key = placed().keyOf(hostile);
    expect(key).toMatch(/^fl:\{\d+\}:r:60000:\{evil\}$/);
    expect(calculateSlot(key)).toBe(calculateSlot(placed().tagOf(hostile)));
  });

  it.each([['a'], ['shop:eu-1.a_b'], ['x'.repeat(32)]])(
    'keeps the namespace %s before its tag',
    (namespace) => {
      const group = keyPrefix(namespace, 'r', MINUTE_MS);
      const one = check(`${group}user-1`, { group });
      expect(placed({ namespace }).keyOf(one)).toMatch(/^[^{}]+:\{\d+\}:r:60000:user-1$/);
      expect(placed({ namespace }).keyOf(one).startsWith(`${namespace}:{`)).toBe(true);
    },
  );

  it('keeps counters apart that were apart', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.boolean(), (a, b, isDay) => {
        const [one, other] = [
          ruleCheck('sms', MINUTE_MS, a),
          ruleCheck('sms', isDay ? DAY_MS : MINUTE_MS, b),
        ];
        expect(placed().keyOf(one) === placed().keyOf(other)).toBe(one.key === other.key);
      }),
    );
  });
});

describe('a hashTag function', () => {
  const one = ruleCheck('sms', MINUTE_MS, 'user-1');

  it('names the tag, by the rule, its window and the key', () => {
    const seen: unknown[] = [];
    const placement = placed({
      hashTag: ({ key, name, windowMs }) => {
        seen.push([key, name, windowMs]);
        return `tag-${name}`;
      },
    });
    expect(placement.tagOf(one)).toBe('tag-sms');
    expect(seen).toEqual([[one.key, 'sms', MINUTE_MS]]);
    expect(placement.keyOf(one)).toBe(`fl:{tag-sms}${one.key.slice(2)}`);
  });

  it.each([['a'], ['x'.repeat(64)], ['täg'], ['fl:1|2'], ['0']])('may answer %p', (tag) => {
    expect(placed({ hashTag: () => tag }).tagOf(one)).toBe(tag);
  });

  it.each<[unknown, string]>([
    ['', '""'],
    ['a b', '"a b"'],
    ['a{b', '"a{b"'],
    ['a}b', '"a}b"'],
    ['{a}', '"{a}"'],
    ['a\n', '"a\\n"'],
    ['\u2028', '"\\u2028"'],
    ['x'.repeat(65), `"${'x'.repeat(65)}"`],
    [undefined, 'undefined'],
    [null, 'null'],
    [5, '5'],
    [true, 'true'],
    [{}, '[object]'],
    [['a'], '[list of 1]'],
    [Promise.resolve('a'), '[object]'],
  ])('must not answer %p', (answer, shown) => {
    const placement = placed({ hashTag: () => answer as string });
    for (const ask of [() => placement.tagOf(one), () => placement.keyOf(one)]) {
      const error = thrownBy(ask);
      expect(error.code).toBe('FREQ_LIMIT_RULE_FAILED');
      expect(error.message).toContain(`FreqLimitModule: hashTag answered ${shown}`);
      expect(error.message).not.toContain('\n');
    }
  });

  it('is named when it throws, with the cause', () => {
    const cause = new TypeError('of its own');
    const placement = placed({
      hashTag: () => {
        throw cause;
      },
    });
    const error = thrownBy(() => placement.tagOf(one));
    expect(error.code).toBe('FREQ_LIMIT_RULE_FAILED');
    expect(error.message).toContain('FreqLimitModule');
    expect(error.message).toContain('hashTag');
    expect(error.message).toContain('of its own');
    expect(error.cause).toBe(cause);
  });
});
