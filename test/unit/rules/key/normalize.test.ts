import { compileKey } from '../../../../src/rules/key/compile-key.js';
import { compileNormalize, rejectUnused } from '../../../../src/rules/key/normalize.js';
import { planOf } from '../../../../src/rules/plan.js';
import { toChecks } from '../../../../src/rules/to-checks.js';
import { planRule } from '../../../../src/rules/plan-rule.js';
import { CONTEXT, declared, DEFAULTS, OWNER, thrownBy, requestOf } from '../../fixtures.js';

const body = { email: ' Victim@Example.org', phone: '+86 138', other: ' Kept ' };
const compiled = (spec: unknown, normalize: unknown) => compileKey(spec, compileNormalize(normalize));
const read = (spec: unknown, normalize: unknown, request: object = { body }): unknown =>
  compiled(spec, normalize).read(requestOf(request as Record<string, unknown>, '203.0.113.7'), CONTEXT);
const plain = (...texts: string[]): unknown => compileKey(() => texts).read(requestOf(), CONTEXT);

describe('normalize', () => {
  it('normalizes the values of placeholders, but neither addresses nor constants', () => {
    expect(read('{body.email}', 'email')).toBe('victim@example.org');
    expect(read('{body.phone}', 'phone')).toBe('+86138');
    expect(read('{ip}{body.email}', 'email')).toBe('203.0.113.7|victim@example.org');
    expect(read('A:{body.email}', 'email')).toBe('A:victim@example.org');
    expect(read('{ip}{body.email}', () => 'x')).toBe('203.0.113.7|x');
  });

  it('normalizes each placeholder that it names, and no other', () => {
    const spec = '{body.email}{body.phone}{body.other}';
    const normalize = { 'body.email': 'email', 'body.phone': 'phone', 'body.none': undefined };
    expect(read(spec, normalize)).toBe(plain('victim@example.org', '+86138', ' Kept '));
    expect(read(['{body.email}', '{body.phone}'], { 'body.phone': 'phone' })).toBe(
      read(['{body.email}', () => '+86138'], undefined),
    );
  });

  it('normalizes the results of key functions', async () => {
    expect(read(() => 'Victim@Example.org', 'email')).toBe('victim@example.org');
    expect(read(() => ['A@B.org', 'C@D.org'], 'email')).toBe('a@b.org|c@d.org');
    await expect(read(() => Promise.resolve('+86 138'), 'phone')).resolves.toBe('+86138');
    expect(read(['{body.email}', () => 'A@B.org'], 'email')).toBe('victim@example.org||a@b.org');
  });

  it('gets values as strings, and no missing values', () => {
    const seen: unknown[] = [];
    const normalize = (value: string): string => {
      seen.push(value);
      return value;
    };
    for (const value of [138, '138', true, null, [1], { a: 1 }, ''])
      read('{body.v}', normalize, { body: { v: value } });
    expect(seen).toEqual(['138', '138', 'true']);
  });

  it.each([
    ['a placeholder', '{body.v}'],
    ['one of two', '{body.v}{body.w}'],
    ['a function', () => ' \u200b'],
  ])('makes %s missing if nothing is left of it', (_, spec) => {
    expect(read(spec, 'email', { body: { v: ' \u200b', w: 'a' } })).toBeUndefined();
    expect(read(spec, 'phone', { body: { v: 'none', w: '1' } })).toBeUndefined();
  });

  it('normalizes given values too', () => {
    const same = (address: string): string => address;
    expect(compiled('{ip}{body.email}', 'email').textFromValues(['1.2.3.4', 'A@B.org'], same)).toBe(
      '1.2.3.4|a@b.org',
    );
    expect(compiled(() => '', 'phone').textFromValues(['+86 138'], same)).toBe('+86138');
    expect(compiled('{body.phone}', 'phone').textFromValues(['none'], same)).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['an unknown string', 'e-mail'],
    ['a number', 5],
    ['null', null],
    ['a list', ['email']],
    ['an empty object', {}],
    ['an unknown string for a placeholder', { 'body.email': 'mail' }],
    ['null for a placeholder', { 'body.email': null }],
  ])('is invalid: %s', (_, normalize) => {
    const error = thrownBy(() =>
      planRule(declared({ window: '1m', limit: 1, key: '{body.email}', normalize }), OWNER, DEFAULTS),
    );
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toMatch(
      /^the handler: normalize: .* is not 'email', 'phone', a function from string/,
    );
  });

  it.each<[string, unknown, unknown, string]>([
    [
      'another placeholder',
      '{body.email}',
      { 'body.mail': 'email' },
      'the key "{body.email}" has no value "body.mail" to normalize; values to normalize: \'body.email\'',
    ],
    ['the address', '{ip}{body.email}', { ip: 'email' }, 'has no value "ip" to normalize'],
    [
      'a function by a placeholder',
      () => 1,
      { 'body.email': 'email' },
      'values to normalize: none; for the values of a key function give one normalizer, not an object',
    ],
    ['a key of constants', 'all', 'email', 'the key "all" has no value to normalize; remove normalize'],
    ['the address alone', undefined, 'email', 'the key "{ip}" has no value to normalize'],
  ])('is invalid for %s', (_, key, normalize, message) => {
    const rule = { window: '1m', limit: 1, key, normalize };
    expect(thrownBy(() => planRule(declared(rule), OWNER, DEFAULTS)).message).toContain(message);
  });

  it('has no effect if it is not given', () => {
    const nothing = compileNormalize(undefined);
    expect(() => {
      rejectUnused(nothing, compileKey('all'));
    }).not.toThrow();
    expect(compileKey('{body.a}', nothing).normalizers).toEqual([undefined]);
  });
});

describe('a rule with normalize', () => {
  const planned = (key: unknown, normalize: unknown) =>
    planOf(
      [{ rules: [declared({ window: '1m', limit: 1, key, normalize, name: 'n' })], skip: undefined }],
      OWNER,
      DEFAULTS,
    );
  const outcome = async (key: unknown, normalize: unknown): Promise<unknown> => {
    const plan = planned(key, normalize);
    return toChecks(plan!, requestOf({ body }), CONTEXT, () => undefined);
  };

  it('is static unless it is a function', () => {
    expect(planned('{body.email}', 'email')?.isStatic).toBe(true);
    expect(planned('{body.email}', { 'body.email': 'phone' })?.isStatic).toBe(true);
    expect(planned('{body.email}', (v: string) => v)?.isStatic).toBe(false);
    expect(planned('{body.email}', { 'body.email': (v: string) => v })?.isStatic).toBe(false);
  });

  it.each<[string, unknown, (value: string) => unknown, string]>([
    [
      'throws',
      '{body.email}',
      () => {
        throw new Error('no library');
      },
      'it threw Error',
    ],
    [
      'throws, for a key function',
      () => 'a',
      () => {
        throw new Error('no library');
      },
      'it threw Error',
    ],
    ['returns a number', '{body.email}', () => 13800, 'it returned number, not a string'],
    ['returns nothing', '{body.email}', () => undefined, 'it returned undefined, not a string'],
    [
      'is async',
      '{body.email}',
      () => Promise.reject(new Error('late')),
      'it returned a promise, not a string',
    ],
    [
      'returns a list, for an async key function',
      async () => 'a',
      () => ['a'],
      'it returned object, not a string',
    ],
  ])('fails if its function %s', async (_, key, normalize, message) => {
    await expect(outcome(key, normalize)).rejects.toMatchObject({
      code: 'FREQ_LIMIT_RULE_FAILED',
      message: `the handler, rule "n": the normalize function failed: ${message}`,
    });
  });
});
