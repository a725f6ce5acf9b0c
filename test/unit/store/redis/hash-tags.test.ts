import calculateSlot from 'cluster-key-slot';
import fc from 'fast-check';
import type { Check } from '../../../../src/core/check.js';
import { encodeParts, keyPrefix, ruleId } from '../../../../src/core/counter-key.js';
import { type HashTag, HashTags } from '../../../../src/store/redis/hash-tags.js';
import { check } from '../../../support/check.js';
import { thrownBy } from '../../fixtures.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A check of a rule. */
function ruleCheck(rule: string, windowMs: number, ...values: string[]): Check {
  const group = keyPrefix('fl', ruleId(rule, [rule]), windowMs);
  return check(group + encodeParts(values), { group, windowMs, name: rule });
}

function hashTags(options: { hashTag?: HashTag; namespace?: string } = {}): HashTags {
  const { hashTag, namespace = 'fl' } = options;
  return new HashTags({ namespace, hashTag });
}

/** Pearson's chi-squared: about the number of cells minus one if all are equally likely. */
function chiSquare(tags: readonly string[], buckets: number): number {
  const counts = new Map<string, number>();
  for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const expected = tags.length / buckets;
  let sum = (buckets - counts.size) * expected;
  for (const count of counts.values()) sum += (count - expected) ** 2 / expected;
  return sum;
}

describe('the hash tag of a counter', () => {
  it('is the same for all counters of a key value, for any rule and window', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 3 }), (values) => {
        const tagger = hashTags();
        const tags = [
          ruleCheck('sms', MINUTE_MS, ...values),
          ruleCheck('sms', DAY_MS, ...values),
          ruleCheck('a rule of another name', 1, ...values),
        ].map((one) => tagger.tagOf(one));
        expect(new Set(tags).size).toBe(1);
      }),
    );
  });

  it('is a number from 0 to 255', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const tag = hashTags().tagOf(ruleCheck('sms', MINUTE_MS, value));
        expect(tag).toMatch(/^\d+$/);
        expect(Number(tag)).toBeLessThan(256);
      }),
    );
  });

  it('is the same in every process', () => {
    const tagger = hashTags();
    const values = ['203.0.113.7', '+4915112345678', 'user-1', '@'];
    expect(values.map((value) => tagger.tagOf(ruleCheck('sms', MINUTE_MS, value)))).toEqual(
      values.map((value) => hashTags().tagOf(ruleCheck('sms', DAY_MS, value))),
    );
    // a version with other tags would start all counters again at 0: do not change this without a reason
    expect(tagger.tagOf(ruleCheck('sms', MINUTE_MS, 'user-1'))).toBe('210');
  });

  it.each<[string, (n: number) => string]>([
    ['phone numbers', (n) => `+49151${10_000_000 + n}`],
    ['addresses', (n) => `10.0.${n >> 8}.${n & 255}`],
    ['networks of IPv6', (n) => `2001:db8:${n.toString(16)}::`],
    ['numbers', (n) => String(n)],
    ['numbers a hundred apart', (n) => String(100 * n)],
    ['mail addresses', (n) => `user${n}@example.org`],
    ['hashed values', (n) => `name with spaces ${n}`],
  ])('spreads 10,000 %s evenly over 256 tags', (_, valueOf) => {
    const tagger = hashTags();
    const tags = Array.from({ length: 10_000 }, (__, n) =>
      tagger.tagOf(ruleCheck('sms', MINUTE_MS, valueOf(n))),
    );
    expect(new Set(tags).size).toBe(256);
    // 255 on average; more than 360 happens by chance once in 60,000 times
    expect(chiSquare(tags, 256)).toBeLessThan(360);
  });

  it('spreads over all the shards of a Cluster', () => {
    const tagger = hashTags();
    const shards = [0, 0, 0];
    for (let n = 0; n < 3_000; n++) {
      const slot = calculateSlot(tagger.keyOf(ruleCheck('sms', MINUTE_MS, `user-${n}`)));
      shards[Math.floor((slot * 3) / 16_384)]!++;
    }
    for (const count of shards) expect(count).toBeGreaterThan(600);
  });
});

describe('the key of a counter', () => {
  it('has the tag after the namespace, and is otherwise unchanged', () => {
    const one = ruleCheck('sms', MINUTE_MS, 'user-1');
    const tag = hashTags().tagOf(one);
    expect(hashTags().keyOf(one)).toBe(`fl:{${tag}}${one.key.slice(2)}`);
    expect(hashTags().keyOf(one)).toMatch(/^fl:\{\d+\}:sms~[\w-]{10}:60000:user-1$/);
  });

  it('is in the slot of its tag, whatever the key value is', () => {
    const nasty = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('{', '}', 'a', ':', '|', '\n') }),
    );
    fc.assert(
      fc.property(fc.array(nasty, { minLength: 1, maxLength: 3 }), (values) => {
        const tagger = hashTags();
        const keys = [MINUTE_MS, DAY_MS].map((windowMs) => ruleCheck('sms', windowMs, ...values));
        const tag = tagger.tagOf(keys[0]!);
        for (const one of keys) {
          const key = tagger.keyOf(one);
          expect(key.match(/[{}]/g)).toEqual(['{', '}']);
          expect(key.startsWith(`fl:{${tag}}:sms`)).toBe(true);
          expect(calculateSlot(key)).toBe(calculateSlot(tag));
        }
      }),
    );
  });

  it('has nothing that a client sends before its tag, even if the key contains braces', () => {
    const hostile = check('fl:r:60000:{evil}', { group: 'fl:r:60000:' });
    const key = hashTags().keyOf(hostile);
    expect(key).toMatch(/^fl:\{\d+\}:r:60000:\{evil\}$/);
    expect(calculateSlot(key)).toBe(calculateSlot(hashTags().tagOf(hostile)));
  });

  it.each([['a'], ['shop:eu-1.a_b'], ['x'.repeat(32)]])(
    'has the namespace %s before its tag',
    (namespace) => {
      const group = keyPrefix(namespace, 'r', MINUTE_MS);
      const one = check(`${group}user-1`, { group });
      expect(hashTags({ namespace }).keyOf(one)).toMatch(/^[^{}]+:\{\d+\}:r:60000:user-1$/);
      expect(hashTags({ namespace }).keyOf(one).startsWith(`${namespace}:{`)).toBe(true);
    },
  );

  it('is different for different counters', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.boolean(), (a, b, isDay) => {
        const [one, other] = [
          ruleCheck('sms', MINUTE_MS, a),
          ruleCheck('sms', isDay ? DAY_MS : MINUTE_MS, b),
        ];
        expect(hashTags().keyOf(one) === hashTags().keyOf(other)).toBe(one.key === other.key);
      }),
    );
  });
});

describe('a hashTag function', () => {
  const one = ruleCheck('sms', MINUTE_MS, 'user-1');

  it('chooses the tag by the name of the rule, its window and the key', () => {
    const seen: unknown[] = [];
    const tagger = hashTags({
      hashTag: ({ key, name, windowMs }) => {
        seen.push([key, name, windowMs]);
        return `tag-${name}`;
      },
    });
    expect(tagger.tagOf(one)).toBe('tag-sms');
    expect(seen).toEqual([[one.key, 'sms', MINUTE_MS]]);
    expect(tagger.keyOf(one)).toBe(`fl:{tag-sms}${one.key.slice(2)}`);
  });

  it.each([['a'], ['x'.repeat(64)], ['täg'], ['fl:1|2'], ['0']])('may return %p', (tag) => {
    expect(hashTags({ hashTag: () => tag }).tagOf(one)).toBe(tag);
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
  ])('must not return %p', (answer, shown) => {
    const tagger = hashTags({ hashTag: () => answer as string });
    for (const ask of [() => tagger.tagOf(one), () => tagger.keyOf(one)]) {
      const error = thrownBy(ask);
      expect(error.code).toBe('FREQ_LIMIT_RULE_FAILED');
      expect(error.message).toContain(`FreqLimitModule: hashTag returned ${shown};`);
      expect(error.message).not.toContain('\n');
    }
  });

  it('is named in the error when it throws, with the cause', () => {
    const cause = new TypeError('of its own');
    const tagger = hashTags({
      hashTag: () => {
        throw cause;
      },
    });
    const error = thrownBy(() => tagger.tagOf(one));
    expect(error.code).toBe('FREQ_LIMIT_RULE_FAILED');
    expect(error.message).toContain('FreqLimitModule');
    expect(error.message).toContain('hashTag');
    expect(error.message).toContain('of its own');
    expect(error.cause).toBe(cause);
  });
});
