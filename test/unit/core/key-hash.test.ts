import { OptionReader } from '../../../src/core/validate.js';
import { keyHasherFrom, plainKey } from '../../../src/core/key-hash.js';

const SECRET = 'correct horse battery staple';
const reader = new OptionReader('FreqLimitModule', (message) => new Error(message));
const hasherOf = (hashKeys: unknown) => keyHasherFrom(hashKeys, reader);

describe('plainKey', () => {
  it('leaves a string unchanged', () => {
    expect(plainKey('13800000000')).toBe('13800000000');
  });
});

describe('keyHasherFrom', () => {
  it('hashes a string to a fixed length with a prefix, the same each time', () => {
    const hash = hasherOf({ secret: SECRET });
    expect(hash('13800000000')).toMatch(/^#[\w-]{22}$/);
    expect(hash('13800000000')).toBe(hash('13800000000'));
    expect(hash('13800000000')).toBe(hasherOf({ secret: Buffer.from(SECRET) })('13800000000'));
    expect(hash('x'.repeat(10_000))).toHaveLength(23);
  });

  it('gives different hashes for different strings, broken surrogates too, and for different secrets', () => {
    const hash = hasherOf({ secret: SECRET });
    const texts = ['a', 'b', '', '\ud800', '\udfff', '!ip|a', '#a'];
    expect(new Set(texts.map(hash)).size).toBe(texts.length);
    expect(hasherOf({ secret: `${SECRET}.` })('a')).not.toBe(hash('a'));
  });

  it('keeps the secret it was made with', () => {
    const secret = new Uint8Array(16).fill(7);
    const hash = hasherOf({ secret });
    const before = hash('a');
    secret.fill(8);
    expect(hash('a')).toBe(before);
  });

  it.each([
    ['a short string', { secret: 'hunter2-hunter2' }, 'secret is too short'],
    ['few bytes', { secret: Buffer.alloc(15) }, 'secret is too short'],
    ['no secret', { secret: undefined }, 'secret is missing'],
    ['a number', { secret: 1234567890123456 }, 'secret is not a string or a Buffer'],
    ['other numbers', { secret: new Float64Array(16) }, 'secret is not a string or a Buffer'],
    ['the secret itself', 'hunter2-hunter2-hunter2', 'is not { secret }'],
    ['null', null, 'is not { secret }'],
    ['true', true, 'is not { secret }'],
    ['an empty object', {}, 'is not { secret }'],
    ['more than a secret', { secret: SECRET, 'hunter2-hunter2': 1 }, 'is not { secret }'],
  ])('throws for %s, and shows nothing of it', (_, hashKeys, message) => {
    expect(() => hasherOf(hashKeys)).toThrow(`FreqLimitModule: hashKeys: ${message}`);
    expect(() => hasherOf(hashKeys)).not.toThrow(/hunter2|horse|1234/);
  });
});
