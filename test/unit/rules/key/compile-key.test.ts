import type { ExecutionContext } from '@nestjs/common';
import { compileKey } from '../../../../src/rules/key/compile-key.js';
import { CONTEXT, visitOf } from '../../fixtures.js';

const read = (spec: unknown, request?: Record<string, unknown>): unknown =>
  compileKey(spec).read(visitOf(request, '203.0.113.7'), CONTEXT);

describe('a key function', () => {
  it('gets the context and answers at once', () => {
    const seen: ExecutionContext[] = [];
    const key = (context: ExecutionContext): string => {
      seen.push(context);
      return 'tenant';
    };
    expect(read(key)).toBe('tenant');
    expect(seen).toEqual([CONTEXT]);
  });

  it('may answer later', async () => {
    await expect(read(() => Promise.resolve(7))).resolves.toBe('7');
  });

  it.each([
    ['a list', ['a', 1], 'a|1'],
    ['a list of one', ['a'], 'a'],
    ['a number', 5, '5'],
    ['a bigint', 5n, '5'],
    ['true', true, 'true'],
  ])('may answer %s', async (_, answer, text) => {
    expect(read(() => answer)).toBe(text);
    await expect(read(async () => answer)).resolves.toBe(text);
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['an empty text', ''],
    ['an object', { id: 1 }],
    ['a symbol', Symbol('x')],
    ['a function', () => 'x'],
    ['NaN', NaN],
    ['an empty list', []],
    ['a list with a gap', ['a', undefined]],
    ['a list of lists', [['a']]],
  ])('tells nobody apart by %s', async (_, answer) => {
    expect(read(() => answer)).toBeUndefined();
    await expect(read(async () => answer)).resolves.toBeUndefined();
  });

  it('throws what it throws', () => {
    expect(() =>
      read(() => {
        throw new Error('no tenant');
      }),
    ).toThrow('no tenant');
  });
});

describe('a list of parts', () => {
  const tenant = (): string => 'acme';

  it('joins templates and functions', async () => {
    expect(read(['{ip}', tenant, 'u:{user.id}'], { user: { id: 1 } })).toBe('203.0.113.7||acme||u:1');
    await expect(read(['{ip}', async () => 'acme'])).resolves.toBe('203.0.113.7||acme');
  });

  it('misses all when one part is missing', async () => {
    expect(read(['{ip}', '{user.id}'])).toBeUndefined();
    await expect(read(['{ip}', async () => undefined])).resolves.toBeUndefined();
  });

  it('never lets its parts run into each other', () => {
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

  it('starts every part though one throws, and fails once', async () => {
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

describe('what a key tells of itself', () => {
  const f = (): string => 'x';

  it.each<[unknown, string, readonly string[]]>([
    ['phone:{body.phone}:{user.id}', 'phone:{body.phone}:{user.id}', ['body.phone', 'user.id']],
    ['all', 'all', []],
    [f, 'ƒ', []],
    [['{ip}', f, 'u:{user.id}'], '["{ip}","ƒ","u:{user.id}"]', ['ip', 'user.id']],
  ])('of %p is its spec and its paths', (key, spec, paths) => {
    expect(compileKey(key)).toMatchObject({ spec, paths });
  });
});

describe('fill', () => {
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
  ])('makes by hand the text that a visit makes: %p', (spec, values) => {
    const key = compileKey(spec);
    expect(key.textFromValues(values, (address) => address)).toBe(
      key.read(visitOf(request, '203.0.113.7'), CONTEXT),
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
  ])('refuses a wrong number of values: %p', (spec, values, message) => {
    expect(() => compileKey(spec).textFromValues(values, (address) => address)).toThrow(message);
  });

  it.each([[''], [null], [undefined], [{}], [NaN]])('has no text for %p', (value) => {
    expect(compileKey('{ip}').textFromValues([value], (address) => address)).toBeUndefined();
    expect(compileKey(() => 'x').textFromValues([value], (address) => address)).toBeUndefined();
  });
});
