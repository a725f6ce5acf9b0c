import { OptionReader } from '../../../src/core/validate.js';
import { keyHasherFrom, plainKey } from '../../../src/core/key-hash.js';

const SECRET = 'correct horse battery staple';
const read = new OptionReader('FreqLimitModule', (message) => new Error(message));
const seal = (hashKeys: unknown) => keyHasherFrom(hashKeys, read);

describe('a seal', () => {
  it('is none where no secret is given', () => {
    expect(seal(undefined)).toBe(plainKey);
    expect(plainKey('13800000000')).toBe('13800000000');
  });

  it('makes of a text a marked hash of one length, the same each time', () => {
    const by = seal({ secret: SECRET });
    expect(by('13800000000')).toMatch(/^#[\w-]{22}$/);
    expect(by('13800000000')).toBe(by('13800000000'));
    expect(by('13800000000')).toBe(seal({ secret: Buffer.from(SECRET) })('13800000000'));
    expect(by('x'.repeat(10_000))).toHaveLength(23);
  });

  it('tells texts apart, ill-formed ones too, and secrets', () => {
    const by = seal({ secret: SECRET });
    const texts = ['a', 'b', '', '\ud800', '\udfff', '!ip|a', '#a'];
    expect(new Set(texts.map(by)).size).toBe(texts.length);
    expect(seal({ secret: `${SECRET}.` })('a')).not.toBe(by('a'));
  });

  it('keeps the secret it was made with', () => {
    const secret = new Uint8Array(16).fill(7);
    const by = seal({ secret });
    const before = by('a');
    secret.fill(8);
    expect(by('a')).toBe(before);
  });

  it.each([
    ['a short text', { secret: 'hunter2-hunter2' }, 'secret is too short'],
    ['few bytes', { secret: Buffer.alloc(15) }, 'secret is too short'],
    ['no secret', { secret: undefined }, 'secret is missing'],
    ['a number', { secret: 1234567890123456 }, 'secret is neither a text nor a Buffer'],
    ['other numbers', { secret: new Float64Array(16) }, 'secret is neither a text nor a Buffer'],
    ['the secret itself', 'hunter2-hunter2-hunter2', 'is not { secret }'],
    ['null', null, 'is not { secret }'],
    ['true', true, 'is not { secret }'],
    ['an empty object', {}, 'is not { secret }'],
    ['more than a secret', { secret: SECRET, 'hunter2-hunter2': 1 }, 'is not { secret }'],
  ])('is refused for %s, and nothing of it is shown', (_, hashKeys, message) => {
    expect(() => seal(hashKeys)).toThrow(`FreqLimitModule: hashKeys: ${message}`);
    expect(() => seal(hashKeys)).not.toThrow(/hunter2|horse|1234/);
  });
});
