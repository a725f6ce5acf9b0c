import { compileKey } from '../../../../src/rules/key/compile-key.js';
import { CONTEXT, requestOf } from '../../fixtures.js';

const read = (spec: unknown, request?: Record<string, unknown>, address?: string): unknown =>
  compileKey(spec).read(requestOf(request, address), CONTEXT);
const ofBody = (phone: unknown): unknown => read('{body.phone}', { body: { phone } });

describe('a template', () => {
  it.each([
    ['{ip}', '203.0.113.7'],
    ['{user.id}', '42'],
    ['{body.phone}', '13800000000'],
    ['{params.id}', 'p1'],
    ['{query.q}', 'what'],
    ['{headers.x-api-key}', 'k-1'],
    ['{headers.X-API-Key}', 'k-1'],
    ['{headers.x.with.dots}', 'dotted'],
    ['{body.address.zip.code}', 'AB1'],
    ['{body.list.1}', 'second'],
    ['phone:{body.phone}', 'phone:13800000000'],
    ['{body.phone}:tail', '13800000000|:tail'],
    ['{user.id}{body.phone}', '42|13800000000'],
    ['u:{user.id}-p:{body.phone}', 'u:42|-p:13800000000'],
    ['everybody', 'everybody'],
  ])('%s reads %s', (template, text) => {
    const request = {
      user: { id: 42 },
      body: { phone: '13800000000', address: { zip: { code: 'AB1' } }, list: ['first', 'second'] },
      params: { id: 'p1' },
      query: { q: 'what' },
      headers: { 'x-api-key': 'k-1', 'x.with.dots': 'dotted' },
    };
    expect(read(template, request, '203.0.113.7')).toBe(text);
  });

  it('is one counter for all clients without a placeholder, whatever they send', () => {
    expect(read('all', {}, undefined)).toBe(read('all', { body: { phone: 1 } }, '203.0.113.7'));
    expect(read('für alle')).toMatch(/^~/);
  });

  it.each([
    ['a string', 'x'],
    ['a blank', ' '],
    ['a brace', '{ip}'],
    ['a lone surrogate', '\ud800'],
    ['10 kB', 'x'.repeat(10_000)],
    ['zero', 0],
    ['false', false],
  ])('counts by %s', (_, value) => {
    expect(ofBody(value)).toEqual(expect.any(String));
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['an empty string', ''],
    ['an array', ['1', '2']],
    ['an empty array', []],
    ['an object', { $ne: 1 }],
    ['an object with toString', { toString: () => 'x' }],
    ['a boxed string', Object('x')],
    ['a null-prototype object', Object.create(null)],
    ['a function', () => 'x'],
    ['a symbol', Symbol('x')],
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['a date', new Date(0)],
    ['a promise', Promise.resolve('x')],
  ])('treats %s as missing', (_, value) => {
    expect(ofBody(value)).toBeUndefined();
  });

  it.each([
    ['no body', {}],
    ['a null body', { body: null }],
    ['a string as body', { body: 'phone' }],
    ['an array as body', { body: ['phone'] }],
    ['a promise as body', { body: Promise.resolve({ phone: '1' }) }],
  ])('is missing in a request with %s', (_, request) => {
    expect(read('{body.phone}', request)).toBeUndefined();
    expect(read('{body.phone.number}', request)).toBeUndefined();
  });

  it('is missing without a request and an address', () => {
    const request = { parts: undefined, address: undefined, isClientFacing: true };
    expect(compileKey('{ip}').read(request, CONTEXT)).toBeUndefined();
    expect(compileKey('{user.id}').read(request, CONTEXT)).toBeUndefined();
  });

  it.each(['{body.constructor}', '{body.toString}', '{body.constructor.prototype}', '{body.phone.length}'])(
    'reads with %s only what the client sent',
    (template) => {
      expect(read(template, { body: { phone: 'text' } })).toBeUndefined();
    },
  );

  it('reads a body without a prototype', () => {
    const body: unknown = Object.assign(Object.create(null), { phone: '1' });
    expect(read('{body.phone}', { body })).toBe('1');
  });

  it('is missing if one of several values is missing', () => {
    expect(read('{user.id}:{body.phone}', { user: { id: 1 }, body: {} })).toBeUndefined();
    expect(read('{user.id}:{body.phone}', { body: { phone: 1 } })).toBeUndefined();
  });

  it.each([
    [1, '1'],
    [true, 'true'],
    [false, 'false'],
    [10n, '10'],
    [1.5, '1.5'],
    [-0, '0'],
    [13_800_000_000, '13800000000'],
    [12_345_678_901_234_567_890n, '12345678901234567890'],
  ])('treats %p and its string %j as one value', (value, text) => {
    expect(ofBody(value)).toBe(ofBody(text));
  });

  it.each([
    ['1', '1.0'],
    ['a', 'A'],
    ['x', ' x'],
    ['\ud800', '\udfff'],
    ['x'.repeat(10_000), 'x'.repeat(10_001)],
  ])('keeps different values different', (a, b) => {
    expect(ofBody(a)).not.toBe(ofBody(b));
  });

  it.each(['{user.a}{user.b}', '{user.a}:{user.b}', '{user.a}|{user.b}', 'x{user.a}y{user.b}z'])(
    'keeps two values of %s separate',
    (template) => {
      const pairs = [
        ['a:b', 'c'],
        ['a', 'b:c'],
        ['a|b', 'c'],
        ['a', 'b|c'],
        ['ab', 'c'],
        ['a', 'bc'],
        ['a|', 'c'],
        ['a', '|c'],
        ['a:', 'c'],
        ['a', ':c'],
      ];
      const texts = pairs.map(([a, b]) => read(template, { user: { a, b } }));
      expect(new Set(texts).size).toBe(pairs.length);
    },
  );

  it('bounds the length of its text, and keeps different ones different', () => {
    const long = (end: string): unknown =>
      read('{user.a}:{user.b}', { user: { a: 'a'.repeat(48), b: 'b'.repeat(40) + end } });
    expect(long('1')).not.toBe(long('2'));
    expect((long('1') as string).length).toBeLessThanOrEqual(64);
  });
});

describe('a path without braces in a constant', () => {
  it.each([
    ['phone:body.phone', 'body.phone'],
    ['{ip}:user.id', 'user.id'],
    ['{body.a} query.q', 'query.q'],
  ])('is an error: %s', (template, path) => {
    expect(() => compileKey(template)).toThrow(
      `contains ${path} as a constant; for the value write {${path}}`,
    );
  });

  it.each(['phone:{body.phone}', 'antibody.x', 'a.body.x', 'phone'])('is not found in %s', (template) => {
    expect(() => compileKey(template)).not.toThrow();
  });
});
