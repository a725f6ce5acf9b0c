import { OptionReader } from '../../../src/core/validate.js';
import { type KeyHasher, keyHasherFrom } from '../../../src/core/key-hash.js';
import { planOf } from '../../../src/rules/plan.js';
import { toChecks } from '../../../src/rules/to-checks.js';
import { HashTags } from '../../../src/store/redis/hash-tags.js';
import type { Check } from '../../../src/core/check.js';
import { CONTEXT, declared, DEFAULTS, OWNER, requestOf } from '../fixtures.js';

const hasherBy = (secret: string): KeyHasher => keyHasherFrom({ secret }, new OptionReader('', Error));
const HASHER = hasherBy('correct horse battery staple');

function checksOf(keys: readonly unknown[], hashKey: KeyHasher, request = {}, address?: string): Check[] {
  const rules = keys.map((key, i) => declared({ window: '1m', limit: 1, key, name: `r${i}` }));
  const plan = planOf([{ rules, skip: undefined }], OWNER, { ...DEFAULTS, hashKey });
  return toChecks(plan!, requestOf(request, address), CONTEXT, () => undefined) as Check[];
}

const textOf = ({ key, group }: Check): string => key.slice(group.length);

describe('the text of a key with a value of a client', () => {
  const request = { body: { phone: '13800000000' } };

  it.each<[string, unknown, object, string | undefined]>([
    ['a value', '{body.phone}', request, undefined],
    ['a value after a constant', 'phone:{body.phone}', request, undefined],
    ['an address', '{ip}', {}, '203.0.113.7'],
    ['the result of a function', () => 'tenant', {}, undefined],
    ['a list', ['all', '{body.phone}'], request, undefined],
    ['an address instead of a missing key', '{body.phone}', {}, '203.0.113.7'],
    ['neither key nor address', '{body.phone}', {}, undefined],
  ])('is hashed: %s', (_, key, parts, address) => {
    const [plain] = checksOf([key], DEFAULTS.hashKey, parts, address).map(textOf);
    const [hashed] = checksOf([key], HASHER, parts, address).map(textOf);
    expect(plain).not.toMatch(/^#/);
    expect(hashed).toBe(HASHER(plain!));
    expect(hashed).toMatch(/^#[\w-]{22}$/);
  });

  it('stays readable if it has no value of a client', () => {
    expect(checksOf(['everybody', ['a', 'b']], HASHER).map(textOf)).toEqual(['everybody', 'a||b']);
  });

  it('keeps the group, and shares a hash tag if several rules have equal values', () => {
    const checks = checksOf(['{body.phone}', () => '13800000000'], HASHER, request);
    expect(checks.map(({ group }) => group)).toEqual(
      checksOf(['{body.phone}', () => '13800000000'], DEFAULTS.hashKey, request).map(({ group }) => group),
    );
    const placement = new HashTags({ namespace: 'fl', hashTag: undefined });
    const [one, two] = checks.map((check) => placement.tagOf(check));
    expect(one).toBe(two);
    const [other] = checksOf(['{body.phone}'], HASHER, { body: { phone: '13900000000' } });
    expect(placement.tagOf(other!)).not.toBe(one);
  });

  it('has a hash tag that depends on the secret', () => {
    const placement = new HashTags({ namespace: 'fl', hashTag: undefined });
    const phones = Array.from({ length: 16_000 }, (_, i) => `+1555${1_000_000 + i}`);
    const tagBy = (hashKey: KeyHasher, phone: string): string =>
      placement.tagOf(checksOf(['{body.phone}'], hashKey, { body: { phone } })[0]!);
    const chosen = phones.filter((phone) => tagBy(DEFAULTS.hashKey, phone) === '0');
    const picked = phones.filter((phone) => tagBy(HASHER, phone) === '0');
    expect(Math.min(chosen.length, picked.length)).toBeGreaterThan(20);
    // phones found without the secret, or with another one, have any tag
    expect(new Set(chosen.map((phone) => tagBy(HASHER, phone))).size).toBeGreaterThan(8);
    expect(
      new Set(picked.map((phone) => tagBy(hasherBy('another sixteen chars'), phone))).size,
    ).toBeGreaterThan(8);
    // all processes agree
    const again = hasherBy('correct horse battery staple');
    expect(phones.map((phone) => tagBy(again, phone))).toEqual(phones.map((phone) => tagBy(HASHER, phone)));
  });
});
