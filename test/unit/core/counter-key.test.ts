import fc from 'fast-check';
import {
  boundText,
  BY_ADDRESS,
  encodePart,
  encodeParts,
  keyPrefix,
  NO_ADDRESS,
  ruleId,
} from '../../../src/core/counter-key.js';

const SPECIAL = [
  '',
  '{}',
  '\0',
  '|',
  '||',
  '~',
  '^',
  '!',
  '!ip',
  '__proto__',
  'a:b',
  'a',
  '\ud800',
  '\udfff',
];
const anyText = fc.oneof(
  fc.constantFrom(...SPECIAL),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom('x', '{', '\ud800').map((unit) => unit.repeat(10_000)),
);
const partLists = fc.array(anyText, { minLength: 1, maxLength: 4 });

/** Random lists of values from a fixed seed, much faster than with fast-check. */
function listMaker(seed: number): () => string[] {
  let state = seed;
  const below = (n: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const textOf = (length: number, unit: () => number): string =>
    String.fromCharCode(...Array.from({ length }, unit));
  const value = (): string => {
    const kind = below(100);
    if (kind === 0) return textOf(1, () => below(0x10000)).repeat(10_000);
    if (kind < 20) return SPECIAL[below(SPECIAL.length)]!;
    if (kind < 60) return textOf(below(6), () => 'ab:|~^!{}\0'.charCodeAt(below(10)));
    return textOf(below(12), () => below(0x10000));
  };
  return () => Array.from({ length: 1 + below(4) }, value);
}

describe('encodeParts', () => {
  it('encodes different lists of values differently', () => {
    const lists = new Map<string, string>();
    const make = listMaker(7);
    for (let i = 0; i < 200_000; i++) {
      const parts = make();
      const text = encodeParts(parts);
      // of a long value its first two characters are enough: they are all the same
      const list = JSON.stringify(parts.map((part) => (part.length < 64 ? part : `${part.slice(0, 2)}…`)));
      const known = lists.get(text);
      if (known !== undefined && known !== list) throw new Error(`${list} shares ${text} with ${known}`);
      lists.set(text, list);
    }
    expect(lists.size).toBeGreaterThan(100_000);
  });

  it('encodes lists differently that differ only in where values are split', () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, (a, b, c) => {
        const texts = new Set([encodeParts([a + b, c]), encodeParts([a, b + c]), encodeParts([a, b, c])]);
        const lists = new Set(
          [
            [a + b, c],
            [a, b + c],
            [a, b, c],
          ].map((list) => JSON.stringify(list)),
        );
        expect(texts.size).toBe(lists.size);
      }),
    );
  });

  it.each([
    [
      ['a:b', 'c'],
      ['a', 'b:c'],
    ],
    [['a|b'], ['a', 'b']],
    [['a', ''], ['a']],
    [['\ud800'], ['\udfff']],
    [['\ud800'], ['\ufffd']],
    [['é'], ['e\u0301']],
    [['a'], ['A']],
    [['*'], ['**']],
  ])('distinguishes %j from %j', (a, b) => {
    expect(encodeParts(a)).not.toBe(encodeParts(b));
  });

  it('always encodes the same values in the same way', () => {
    expect(encodeParts(['tenant-1', '203.0.113.7'])).toBe('tenant-1|203.0.113.7');
    expect(encodeParts(['{}'])).toBe(encodeParts(['{}']));
  });

  it('never looks like a request that is counted by its address', () => {
    fc.assert(
      fc.property(partLists, (parts) => {
        const text = encodeParts(parts);
        expect(text.startsWith(BY_ADDRESS)).toBe(false);
        expect(text).not.toBe(NO_ADDRESS);
      }),
    );
    expect(encodeParts(['!ip', '203.0.113.7'])).not.toContain('!');
  });

  it('has a maximum length, and no value looks like its hash', () => {
    const long = encodeParts(['a'.repeat(48), 'b'.repeat(48)]);
    expect(long).toHaveLength(23);
    expect(encodeParts([long])).not.toBe(long);
    expect(boundText('a'.repeat(64))).toBe('a'.repeat(64));
    expect(boundText('a'.repeat(65))).toMatch(/^\^[A-Za-z0-9_-]{22}$/);
  });
});

describe('encodePart', () => {
  it.each(['13800000000', 'a@b.example', '2001:db8::', 'a'.repeat(48), '__proto__', '+1-2_3'])(
    'does not change %j',
    (value) => {
      expect(encodePart(value)).toBe(value);
    },
  );

  it.each(['', ' ', '{x}', 'a|b', '~a', '^a', '!ip', 'a\nb', 'ü', 'a'.repeat(49)])('hashes %j', (value) => {
    expect(encodePart(value)).toMatch(/^~[A-Za-z0-9_-]{22}$/);
  });
});

describe('a whole key', () => {
  it('has no brace and at most 128 bytes', () => {
    const identity = fc.array(fc.option(anyText, { nil: undefined }), { maxLength: 4 });
    fc.assert(
      fc.property(anyText, identity, fc.maxSafeInteger(), partLists, (label, parts, window, values) => {
        const key = keyPrefix('fl', ruleId(label, parts), Math.abs(window)) + encodeParts(values);
        expect(key).not.toMatch(/[{}]/);
        expect(Buffer.byteLength(key)).toBeLessThanOrEqual(128);
      }),
    );
  });

  it('begins with namespace, rule and window', () => {
    expect(keyPrefix('fl', 'app~x', 60_000)).toBe('fl:app~x:60000:');
  });
});

describe('ruleId', () => {
  it('shows a readable label of limited length', () => {
    expect(ruleId('SmsController.send', ['a'])).toMatch(/^SmsController\.send~[A-Za-z0-9_-]{10}$/);
    expect(ruleId('Ä{b} c', ['a'])).toMatch(/^__b__c~/);
    expect(ruleId('x'.repeat(100), ['a'])).toHaveLength(43);
  });

  it('is the same for the same identity', () => {
    expect(ruleId('a', ['x', undefined])).toBe(ruleId('a', ['x', undefined]));
  });

  it('differs for different identities', () => {
    const identities = [
      ['a', 'b'],
      ['ab'],
      ['a', 'b', ''],
      ['', 'a', 'b'],
      ['a', undefined],
      ['a', 'null'],
      ['a'],
      [],
    ];
    expect(new Set(identities.map((identity) => ruleId('same', identity))).size).toBe(identities.length);
  });
});
