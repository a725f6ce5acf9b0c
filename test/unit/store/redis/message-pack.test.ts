import { unpackArray } from '../../../../src/store/redis/message-pack.js';
import { UnexpectedReplyError } from '../../../../src/store/redis/reply-values.js';

/** Bytes, written as hexadecimal digits with spaces. */
const hex = (digits: string): Buffer => Buffer.from(digits.replaceAll(' ', ''), 'hex');
const withHead = (head: string, ...rest: readonly Buffer[]): Buffer => Buffer.concat([hex(head), ...rest]);
const times = (length: number, byte: number): Buffer => Buffer.alloc(length, byte);

const MAX = Number.MAX_SAFE_INTEGER;

const NUMBERS: readonly (readonly [number, string])[] = [
  [0, '00'],
  [1, '01'],
  [127, '7f'],
  [128, 'cc 80'],
  [255, 'cc ff'],
  [256, 'cd 0100'],
  [65_535, 'cd ffff'],
  [65_536, 'ce 00010000'],
  [2 ** 31, 'ce 80000000'],
  [2 ** 32 - 1, 'ce ffffffff'],
  [2 ** 32, 'cf 0000000100000000'],
  [2 ** 52, 'cf 0010000000000000'],
  [2 ** 52 + 1, 'cf 0010000000000001'],
  [MAX, 'cf 001fffffffffffff'],
  [-1, 'ff'],
  [-32, 'e0'],
  [-33, 'd0 df'],
  [-128, 'd0 80'],
  [-129, 'd1 ff7f'],
  [-32_768, 'd1 8000'],
  [-32_769, 'd2 ffff7fff'],
  [-(2 ** 31), 'd2 80000000'],
  [-(2 ** 31) - 1, 'd3 ffffffff7fffffff'],
  [-(2 ** 32), 'd3 ffffffff00000000'],
  [-MAX, 'd3 ffe0000000000001'],
];

const STRINGS: readonly (readonly [string, Buffer])[] = [
  ['', hex('a0')],
  ['a', hex('a161')],
  ['ERR é €', hex('aa 45525220 c3a9 20 e282ac')],
  ['x'.repeat(31), withHead('bf', times(31, 0x78))],
  ['x'.repeat(32), withHead('d9 20', times(32, 0x78))],
  ['x'.repeat(255), withHead('d9 ff', times(255, 0x78))],
  ['x'.repeat(256), withHead('da 0100', times(256, 0x78))],
  ['x'.repeat(65_535), withHead('da ffff', times(65_535, 0x78))],
  ['x'.repeat(65_536), withHead('db 00010000', times(65_536, 0x78))],
];

/** Other forms of numbers and strings, which are longer than needed. */
const LONG_FORMS: readonly (readonly [number | string, string])[] = [
  [1, 'cc 01'],
  [1, 'cd 0001'],
  [1, 'ce 00000001'],
  [1, 'cf 0000000000000001'],
  [1, 'd0 01'],
  [1, 'd1 0001'],
  [1, 'd2 00000001'],
  [1, 'd3 0000000000000001'],
  [MAX, 'd3 001fffffffffffff'],
  ['a', 'd9 01 61'],
  ['a', 'da 0001 61'],
  ['a', 'db 00000001 61'],
];

const ALL: readonly (readonly [number | string, Buffer])[] = [
  ...NUMBERS.map(([value, digits]) => [value, hex(digits)] as const),
  ...STRINGS,
  ...LONG_FORMS.map(([value, digits]) => [value, hex(digits)] as const),
];

describe('unpackArray', () => {
  it.each(NUMBERS)('reads %i exactly', (value, digits) => {
    expect(unpackArray(hex(`91 ${digits}`))).toEqual([value]);
  });

  it.each(STRINGS.map(([value, bytes]) => [Buffer.byteLength(value), value, bytes] as const))(
    'reads a string of %i bytes',
    (_, value, bytes) => {
      expect(unpackArray(withHead('91', bytes))).toEqual([value]);
    },
  );

  it.each(LONG_FORMS)('reads %p in the form %s', (value, digits) => {
    expect(unpackArray(hex(`91 ${digits}`))).toEqual([value]);
  });

  it.each([
    [0, '90'],
    [15, '9f'],
    [16, 'dc 0010'],
    [65_535, 'dc ffff'],
    [65_536, 'dd 00010000'],
    [0, 'dc 0000'],
    [1, 'dd 00000001'],
  ])('reads an array of %i values with the head %s', (length, head) => {
    const values = unpackArray(withHead(head, times(length, 7)));
    expect(values).toHaveLength(length);
    expect(values.every((value) => value === 7)).toBe(true);
  });

  it('reads values of all forms after one another', () => {
    expect(ALL.length).toBeGreaterThan(16);
    const reply = withHead(`dc 00${ALL.length.toString(16)}`, ...ALL.map(([, bytes]) => bytes));
    expect(unpackArray(reply)).toEqual(ALL.map(([value]) => value));
  });

  it('reads a part of a larger piece of memory', () => {
    const memory = hex('ff 92 05 cd 0102 ff');
    expect(unpackArray(memory.subarray(1, 6))).toEqual([5, 258]);
    expect(() => unpackArray(memory.subarray(1, 5))).toThrow(UnexpectedReplyError);
  });

  it('throws for each reply that ends too early', () => {
    const values = ALL.filter(([, bytes]) => bytes.length < 1_000);
    const whole = [
      withHead(`dc 00${values.length.toString(16)}`, ...values.map(([, bytes]) => bytes)),
      ...ALL.map(([, bytes]) => withHead('91', bytes)),
      withHead('dd 00010000', times(65_536, 7)),
    ];
    for (const reply of whole) {
      const lengths = reply.length < 1_000 ? reply.length : 20;
      const ends = Array.from({ length: lengths }, (_, i) => [i, reply.length - 1 - i]).flat();
      for (const end of ends) expect(() => unpackArray(reply.subarray(0, end))).toThrow(UnexpectedReplyError);
    }
  });

  it.each(['90', '91 05', '91 a161', '92 05 ff', 'dc 0001 05'])(
    'throws for bytes after the array %s',
    (digits) => {
      for (const rest of ['00', '90', 'c0', '91 05'])
        expect(() => unpackArray(hex(digits + rest))).toThrow(UnexpectedReplyError);
    },
  );

  it.each([
    ['null', null],
    ['undefined', undefined],
    ['a number', 0],
    ['a string', 'OK'],
    ['a packed array as a string', '\x91\x05'],
    ['an array of Redis', [0, 1, 60_000]],
    ['an empty array of Redis', []],
    ['bytes that are not a Buffer', new Uint8Array([0x91, 5])],
    ['an object like a Buffer', { length: 2, readUInt8: () => 0x90 }],
  ])('throws for %s', (_, reply) => {
    expect(() => unpackArray(reply)).toThrow(UnexpectedReplyError);
  });

  it.each([
    ['nothing', ''],
    ['a number', '05'],
    ['a negative number', 'ff'],
    ['a string', 'a161'],
    ['a long string', 'd9 01 61'],
    ['nil', 'c0'],
    ['true', 'c3'],
    ['an empty map', '80'],
    ['a map', '81 01 02'],
    ['a long map', 'de 0001 01 02'],
  ])('throws for a reply that is %s instead of an array', (_, digits) => {
    expect(() => unpackArray(hex(digits))).toThrow(UnexpectedReplyError);
  });

  it.each([
    ['nil', 'c0'],
    ['the byte that is never used', 'c1'],
    ['false', 'c2'],
    ['true', 'c3'],
    ['bytes', 'c4 01 61'],
    ['many bytes', 'c5 0001 61'],
    ['very many bytes', 'c6 00000001 61'],
    ['an extension', 'c7 01 05 61'],
    ['a long extension', 'c8 0001 05 61'],
    ['a very long extension', 'c9 00000001 05 61'],
    ['a float', 'ca 3f800000'],
    ['a double', 'cb 3ff0000000000000'],
    ['an extension of 1 byte', 'd4 05 61'],
    ['an extension of 2 bytes', 'd5 05 6161'],
    ['an extension of 4 bytes', 'd6 05 61616161'],
    ['an extension of 8 bytes', 'd7 05 6161616161616161'],
    ['an extension of 16 bytes', `d8 05 ${'61'.repeat(16)}`],
    ['an empty map', '80'],
    ['a map', '81 01 02'],
    ['a long map', 'de 0001 01 02'],
    ['a very long map', 'df 00000001 01 02'],
    ['an empty array', '90'],
    ['an array', '91 05'],
    ['a long array', 'dc 0001 05'],
    ['a very long array', 'dd 00000001 05'],
  ])('throws for an array with %s', (_, digits) => {
    for (const reply of [`91 ${digits}`, `92 05 ${digits}`, `92 ${digits} 05`])
      expect(() => unpackArray(hex(reply))).toThrow(UnexpectedReplyError);
  });
});
