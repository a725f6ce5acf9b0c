import fc from 'fast-check';
import { email, phone } from '../../../src/rules/spelling.js';

describe('an e-mail address in one spelling', () => {
  it.each([
    ['upper case', 'Victim@Example.ORG'],
    ['blanks around it', '  victim@example.org '],
    ['a tab and a line break around it', '\tvictim@example.org\r\n'],
    ['a line break within', 'vic\ntim@example.org'],
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

  it('keeps dots and tags, which not every provider leaves out', () => {
    const kept = [
      'v.ictim@example.org',
      'victim+tag@example.org',
      'victim@example.org',
      'victim@example.com',
    ];
    expect(kept.map(email)).toEqual(kept);
  });

  it('keeps all of what is no address', () => {
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

  it('is nothing where nothing is to be seen', () => {
    expect(['', ' ', '\u200b', '\t\n\u0000\ufeff'].map(email)).toEqual(['', '', '', '']);
  });

  it('is its own spelling, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        const once = email(`${a}@${b}`);
        expect(email(once)).toBe(once);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('a phone number in one spelling', () => {
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

  it('leaves the national and the international form two', () => {
    expect(phone('13800000000')).not.toBe(phone('+8613800000000'));
  });

  it('is nothing without digits', () => {
    expect(['', '+', '00', 'none', '+-()', '\u200b'].map(phone)).toEqual(['', '', '', '', '', '']);
  });

  it('is its own spelling, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('+0013٣３८ -().a\u200b')) }), (text) => {
        expect(phone(text)).toMatch(/^(\+?[0-9]+)?$/);
        expect(phone(phone(text))).toBe(phone(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('what is longer than any address or number', () => {
  // marks of two classes, which take time by the square of their number to bring into order
  const marks = '\u0301'.repeat(250_000) + '\u0316'.repeat(250_000);

  it('is no address', () => {
    expect(email(`${marks}@example.org`)).toBe('');
    expect(email(`jo@${'中'.repeat(30_000)}.org`)).toBe('');
    expect(email(`${' '.repeat(500_000)}Jo@example.org\n`)).toBe('jo@example.org');
    expect(email(`${'a'.repeat(308)}@example.org`)).toBe(`${'a'.repeat(308)}@example.org`);
  });

  it('is no number', () => {
    expect(phone(`+1${marks}`)).toBe('');
    expect(phone('1'.repeat(65))).toBe('');
    expect(phone(`${'- '.repeat(100_000)}138 0000 0000`)).toBe('13800000000');
  });
});
