import { runInNewContext } from 'node:vm';
import { compileKey } from '../../../../src/rules/key/compile-key.js';
import { idToScalar } from '../../../../src/rules/key/ids.js';
import { CONTEXT, requestOf } from '../../fixtures.js';

class ObjectId {
  constructor(private readonly hex: string) {}
  toString(): string {
    return this.hex;
  }
}

const HEX = '65f0c0ffee65f0c0ffee65f0';
const textOf = (key: string, request: Record<string, unknown>): unknown =>
  compileKey(key).read(requestOf(request), CONTEXT);

describe('an id that is an object', () => {
  it.each<[string, unknown, unknown]>([
    ['an ObjectId', new ObjectId(HEX), HEX],
    ['a URL', new URL('https://example.org/a'), 'https://example.org/a'],
    ['bytes', Buffer.from('00ff80', 'hex'), '00ff80'],
    ['bytes that are not a Buffer', new Uint8Array([0, 255]), '00ff'],
    ['a date', new Date(86_400_000), 86_400_000],
    ['a date of another realm', runInNewContext('new Date(5)'), 5],
    ['a boxed string', Object('a'), 'a'],
    ['a string', 'a', 'a'],
    ['a number', 5, 5],
    ['a bigint', 5n, 5n],
  ])('becomes a string or number: %s', (_, value, text) => {
    expect(idToScalar(value)).toBe(text);
  });

  it.each<[string, unknown]>([
    ['plain', { id: 1 }],
    ['plain, of another realm', runInNewContext('({ id: 1 })')],
    ['without a prototype', Object.create(null)],
    ['an array', [1]],
    ['an array of another realm', runInNewContext('[1]')],
    ['a map', new Map([[1, 1]])],
    ['a promise', Promise.resolve(1)],
    ['a toString that a client sends', JSON.parse('{"toString":"admin"}')],
    ['a __proto__ that a client sends', JSON.parse('{"__proto__":{"toString":"admin"}}')],
    [
      'an object whose toString throws',
      {
        toString: () => {
          throw new Error('no');
        },
      },
    ],
    ['an object whose toString returns no string', { toString: () => 5 }],
    ['an object whose bytes are not text', { toString: () => Buffer.from('ff', 'hex').toString() }],
    ['nothing', null],
  ])('stays an object: %s', (_, value) => {
    expect(idToScalar(value)).toBe(value);
  });

  it('counts in values that the application sets: user, and results of key functions', () => {
    const id = new ObjectId(HEX);
    expect(textOf('{user._id}', { user: { _id: id } })).toBe(HEX);
    expect(textOf('u:{user.a}{user.b}', { user: { a: id, b: new URL('http://a') } })).toContain(HEX);
    expect(compileKey(() => id as never).read(requestOf({}), CONTEXT)).toBe(HEX);
    expect(compileKey(() => [id, 'a'] as never).read(requestOf({}), CONTEXT)).toBe(`${HEX}|a`);
  });

  it.each(['body', 'params', 'query', 'headers'])('is missing in %s', (root) => {
    for (const value of [new ObjectId(HEX), Buffer.from('a'), new Date(), new URL('http://a'), {}, []])
      expect(textOf(`{${root}.x}`, { [root]: { x: value } })).toBeUndefined();
  });

  it('is missing if it comes from a client, as in a token', () => {
    for (const json of ['{"id":{}}', '{"id":["a"]}', '{"id":{"toString":"a"}}', '{"id":null}'])
      expect(textOf('{user.id}', { user: JSON.parse(json) as unknown })).toBeUndefined();
  });

  it('is found by a given value', () => {
    const { textFromValues } = compileKey('{user._id}');
    expect([textFromValues([new ObjectId(HEX)], String), textFromValues([HEX], String)]).toEqual([HEX, HEX]);
    expect(compileKey('{body.id}').textFromValues([new ObjectId(HEX)], String)).toBeUndefined();
  });
});
