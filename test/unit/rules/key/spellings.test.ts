import fc from 'fast-check';
import { email, MAX_LENGTH, phone, TooLongError } from '../../../../src/rules/key/spellings.js';

describe('a normalized e-mail address', () => {
  it.each([
    ['upper case', 'Victim@Example.ORG'],
    ['surrounding blanks', '  victim@example.org '],
    ['a surrounding tab and line break', '\tvictim@example.org\r\n'],
    ['a line break inside', 'vic\ntim@example.org'],
    ['a zero-width space', 'vic\u200btim@example.org'],
    ['a zero-width joiner', 'victim\u200d@example.org'],
    ['a byte-order mark', '\ufeffvictim@example.org'],
    ['a soft hyphen', 'victim@exam\u00adple.org'],
    ['a variation selector', 'victim\ufe0f@example.org'],
    ['a direction mark', '\u202evictim@example.org'],
    ['NUL', 'victim\u0000@example.org'],
    ['full width', 'ｖｉｃｔｉｍ＠ｅｘａｍｐｌｅ．ｏｒｇ'],
    ['a full-width full stop in the domain', 'victim@example。org'],
    ['a wide blank', '\u3000victim@example.org\u00a0'],
  ])('is the same with %s', (_, text) => {
    expect(email(text)).toBe('victim@example.org');
  });

  it('has an international domain in ASCII, composed or not', () => {
    expect(email('jo@BÜCHER.example')).toBe('jo@xn--bcher-kva.example');
    expect(email('jo@bu\u0308cher.example')).toBe('jo@xn--bcher-kva.example');
    expect(email('jo@bu\u200b\u0308cher.example')).toBe('jo@xn--bcher-kva.example');
    expect(email('jo@xn--bcher-kva.example')).toBe('jo@xn--bcher-kva.example');
  });

  it('keeps dots and tags', () => {
    const kept = [
      'v.ictim@example.org',
      'victim+tag@example.org',
      'victim@example.org',
      'victim@example.com',
    ];
    expect(kept.map(email)).toEqual(kept);
  });

  it('keeps a string that is not an address', () => {
    const kept = [
      'victim',
      'a@b@c',
      'a@',
      '@',
      'a@example.org/x',
      'a@example.org:99',
      'a@ex%61mple.org',
      'a@[::1]',
      'a@b c',
    ];
    expect(kept.map(email)).toEqual(kept);
  });

  it('is empty for invisible text', () => {
    expect(['', ' ', '\u200b', '\t\n\u0000\ufeff'].map(email)).toEqual(['', '', '', '']);
  });

  it('does not change when it is normalized again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        const once = email(`${a}@${b}`);
        expect(email(once)).toBe(once);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('a normalized phone number', () => {
  it.each([
    ['+86 138-0000-0000', '+8613800000000'],
    ['0086 (138) 0000.0000', '+8613800000000'],
    ['(+86)13800000000', '+8613800000000'],
    ['＋８６１３８００００００００', '+8613800000000'],
    ['\u202a+86\u00a013800000000\u202c', '+8613800000000'],
    ['+٨٦١٣٨٠٠٠٠٠٠٠٠', '+8613800000000'],
    ['tel:+8613800000000', '+8613800000000'],
    ['138 0000 0000', '13800000000'],
    ['१३८00000000', '13800000000'],
    ['013800', '013800'],
    ['138+00', '13800'],
  ])('of %s is %s', (text, number) => {
    expect(phone(text)).toBe(number);
  });

  it('keeps the national and the international form different', () => {
    expect(phone('13800000000')).not.toBe(phone('+8613800000000'));
  });

  it('is empty without digits', () => {
    expect(['', '+', '00', 'none', '+-()', '\u200b'].map(phone)).toEqual(['', '', '', '', '', '']);
  });

  it('does not change when it is normalized again', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('+0013٣３८ -().a\u200b')) }), (text) => {
        expect(phone(text)).toMatch(/^(\+?[0-9]+)?$/);
        expect(phone(phone(text))).toBe(phone(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

// one of each class that a normalizer treats in its own way
const CHARACTERS = {
  blanks: ' ',
  separators: '- ',
  'digits and blanks': '1 ',
  digits: '1',
  'digits of another script': '٣',
  'wide digits': '８',
  letters: 'a',
  'upper case': 'Ä',
  'characters of three bytes': '中',
  emoji: '😀',
  'characters that become many': '\ufdfa',
  'invisible characters': '\u200b',
  'control characters': '\u0000',
  'line breaks': '\n',
  'marks of two classes': '\u0301\u0316',
  'marks that come out of order': `${'\u0301'.repeat(16)}${'\u0316'.repeat(16)}`,
  'halves of surrogate pairs': '\ud800',
  'signs of addresses': '@',
  dots: '.',
  plusses: '+',
  'zeros and plusses': '00+',
  parentheses: '(',
};
const NORMALIZERS = { email, phone };

function elapsedMs(run: () => unknown): number {
  const startMs = performance.now();
  run();
  return performance.now() - startMs;
}

describe.each(Object.entries(NORMALIZERS))('%s', (name, normalize) => {
  it.each(Object.entries(CHARACTERS))('reads nothing of a MiB of %s', (_, unit) => {
    const text = unit.repeat(2 ** 20 / unit.length);
    const run = (): void => {
      for (let i = 0; i < 100; i++) expect(() => normalize(`${i}${text}`)).toThrow(TooLongError);
    };
    // a concatenated string is built only when it is read, so reading it takes 100 times as long
    expect(elapsedMs(run)).toBeLessThan(500);
  });

  it.each(Object.entries(CHARACTERS))('takes little time for the longest text of %s', (_, unit) => {
    const fill = unit.repeat(MAX_LENGTH).slice(0, MAX_LENGTH - 16);
    const tails = name === 'email' ? ['@example.org', ''] : ['1'];
    for (const [head, tail] of tails.flatMap(
      (one) =>
        [
          ['', one],
          ['jo@', ''],
        ] as const,
    ))
      expect(elapsedMs(() => normalize(head + fill + tail))).toBeLessThan(250);
  });

  it('keeps two long values different', () => {
    const long = name === 'email' ? `${'a'.repeat(900)}@example.org` : '1'.repeat(900);
    expect(normalize(long)).toBe(long);
    expect(normalize(`1${long}`)).not.toBe(normalize(`2${long}`));
  });

  it('cannot be evaded by padding', () => {
    const value = name === 'email' ? 'jo@example.org' : '13800000000';
    for (const padding of [' ', '\u200b', '\t', '\u3000'])
      for (const length of [1, 99, MAX_LENGTH - value.length])
        expect(normalize(padding.repeat(length) + value)).toBe(value);
    expect(() => normalize(' '.repeat(MAX_LENGTH) + value)).toThrow(TooLongError);
  });

  it('returns the same result again, with others in between', () => {
    const texts = ['+1 23', '456', '+1 23', '+1 23', '456', ''];
    const normalized = name === 'email' ? texts : ['+123', '456', '+123', '+123', '456', ''];
    expect(texts.map(normalize)).toEqual(normalized);
  });
});
