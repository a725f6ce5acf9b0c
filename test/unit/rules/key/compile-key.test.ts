import type { ExecutionContext } from '@nestjs/common';
import { compileKey } from '../../../../src/rules/key/compile-key.js';
import { CONTEXT, requestOf } from '../../fixtures.js';

const read = (spec: unknown, request?: Record<string, unknown>): unknown =>
  compileKey(spec).read(requestOf(request, '203.0.113.7'), CONTEXT);

describe('a key function', () => {
  it('gets the context and may return at once', () => {
    const seen: ExecutionContext[] = [];
    const key = (context: ExecutionContext): string => {
      seen.push(context);
      return 'tenant';
    };
    expect(read(key)).toBe('tenant');
    expect(seen).toEqual([CONTEXT]);
  });

  it('may return a promise', async () => {
    await expect(read(() => Promise.resolve(7))).resolves.toBe('7');
  });

  it.each([
    ['a list', ['a', 1], 'a|1'],
    ['a list of one', ['a'], 'a'],
    ['a number', 5, '5'],
    ['a bigint', 5n, '5'],
    ['true', true, 'true'],
  ])('may return %s', async (_, value, text) => {
    expect(read(() => value)).toBe(text);
    await expect(read(async () => value)).resolves.toBe(text);
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['an empty string', ''],
    ['an object', { id: 1 }],
    ['a symbol', Symbol('x')],
    ['a function', () => 'x'],
    ['NaN', NaN],
    ['an empty list', []],
    ['a list with a gap', ['a', undefined]],
    ['a list of lists', [['a']]],
  ])('is missing if it returns %s', async (_, value) => {
    expect(read(() => value)).toBeUndefined();
    await expect(read(async () => value)).resolves.toBeUndefined();
  });

  it('passes on its error', () => {
    expect(() =>
      read(() => {
        throw new Error('no tenant');
      }),
    ).toThrow('no tenant');
  });
});

describe('a list of keys', () => {
  const tenant = (): string => 'acme';

  it('joins templates and functions', async () => {
    expect(read(['{ip}', tenant, 'u:{user.id}'], { user: { id: 1 } })).toBe('203.0.113.7||acme||u:1');
    await expect(read(['{ip}', async () => 'acme'])).resolves.toBe('203.0.113.7||acme');
  });

  it('is missing if one of them is missing', async () => {
    expect(read(['{ip}', '{user.id}'])).toBeUndefined();
    await expect(read(['{ip}', async () => undefined])).resolves.toBeUndefined();
  });

  it('keeps the values of different keys separate', () => {
    const texts = [
      read([() => 'a:b', () => 'c']),
      read([() => 'a', () => 'b:c']),
      read([() => ['a', 'b'], () => 'c']),
      read([() => 'a', () => ['b', 'c']]),
      read([() => 'a|b', () => 'c']),
      read([() => 'a||b', () => 'c']),
      read([() => 'a', () => '|b', () => 'c']),
      read([() => 'a', () => 'b', () => 'c']),
    ];
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('calls every function even if one throws, and fails once', async () => {
    const called: string[] = [];
    const failing = read([
      () => {
        throw new Error('at once');
      },
      async () => {
        called.push('second');
        throw new Error('later');
      },
    ]);
    await expect(failing).rejects.toThrow('at once');
    expect(called).toEqual(['second']);
  });
});

describe('a compiled key', () => {
  const f = (): string => 'x';

  it.each<[unknown, string, readonly string[]]>([
    ['phone:{body.phone}:{user.id}', 'phone:{body.phone}:{user.id}', ['body.phone', 'user.id']],
    ['all', 'all', []],
    [f, 'ƒ', []],
    [['{ip}', f, 'u:{user.id}'], '["{ip}","ƒ","u:{user.id}"]', ['ip', 'user.id']],
  ])('of %p has its declaration and its paths', (key, spec, paths) => {
    expect(compileKey(key)).toMatchObject({ spec, paths });
  });
});

describe('textFromValues', () => {
  const request = { user: { id: 1 }, body: { phone: 'a b' } };

  it.each<[unknown, readonly unknown[]]>([
    ['{ip}', ['203.0.113.7']],
    ['phone:{body.phone}', ['a b']],
    ['{user.id}:{body.phone}', ['1', 'a b']],
    ['all', []],
    [() => ['x', 2], ['x', '2']],
    [
      ['{ip}', (): string => 'acme', '{user.id}'],
      ['203.0.113.7', 'acme', 1],
    ],
    [
      ['{ip}', (): readonly string[] => ['a', 'b']],
      ['203.0.113.7', ['a', 'b']],
    ],
  ])('makes the text that a request makes: %p', (spec, values) => {
    const key = compileKey(spec);
    expect(key.textFromValues(values, (address) => address)).toBe(
      key.read(requestOf(request, '203.0.113.7'), CONTEXT),
    );
  });

  it.each<[unknown, readonly unknown[], string]>([
    [
      'phone:{body.phone}',
      [],
      'the key "phone:{body.phone}" takes one value for each of its placeholders, got 0',
    ],
    ['{ip}', ['a', 'b'], 'takes one value for each of its placeholders, got 2'],
    ['all', ['a'], 'takes no values, got 1'],
    [['{ip}', '{user.id}'], ['a'], 'the key "{user.id}" takes one value for each of its placeholders, got 0'],
    [['{ip}', (): string => 'x'], ['a'], 'the key takes 2 values, got 1'],
    [['{ip}', '{user.id}'], ['a', 'b', 'c'], 'the key takes 2 values, got 3'],
  ])('throws for a wrong number of values: %p', (spec, values, message) => {
    expect(() => compileKey(spec).textFromValues(values, (address) => address)).toThrow(message);
  });

  it.each([[''], [null], [undefined], [{}], [NaN]])('returns undefined for %p', (value) => {
    expect(compileKey('{ip}').textFromValues([value], (address) => address)).toBeUndefined();
    expect(compileKey(() => 'x').textFromValues([value], (address) => address)).toBeUndefined();
  });
});
