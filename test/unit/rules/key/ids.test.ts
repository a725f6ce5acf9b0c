import { runInNewContext } from 'node:vm';
import { compileKey } from '../../../../src/rules/key/compile-key.js';
import { idToScalar } from '../../../../src/rules/key/ids.js';
import { CONTEXT, visitOf } from '../../fixtures.js';

class ObjectId {
  constructor(private readonly hex: string) {}
  toString(): string {
    return this.hex;
  }
}

const HEX = '65f0c0ffee65f0c0ffee65f0';
const textOf = (key: string, request: Record<string, unknown>): unknown =>
  compileKey(key).read(visitOf(request), CONTEXT);

describe('an id that is an object', () => {
  it.each<[string, unknown, unknown]>([
    ['an ObjectId', new ObjectId(HEX), HEX],
    ['a URL', new URL('https://example.org/a'), 'https://example.org/a'],
    ['bytes', Buffer.from('00ff80', 'hex'), '00ff80'],
    ['bytes that are not a Buffer', new Uint8Array([0, 255]), '00ff'],
    ['a date', new Date(86_400_000), 86_400_000],
    ['a date of another realm', runInNewContext('new Date(5)'), 5],
    ['a boxed text', Object('a'), 'a'],
    ['a text', 'a', 'a'],
    ['a number', 5, 5],
    ['a big number', 5n, 5n],
  ])('is the text of %s', (_, value, text) => {
    expect(idToScalar(value)).toBe(text);
  });

  it.each<[string, unknown]>([
    ['plain', { id: 1 }],
    ['plain, of another realm', runInNewContext('({ id: 1 })')],
    ['without a prototype', Object.create(null)],
    ['a list', [1]],
    ['a list of another realm', runInNewContext('[1]')],
    ['a map', new Map([[1, 1]])],
    ['a promise', Promise.resolve(1)],
    ['what a client sends as toString', JSON.parse('{"toString":"admin"}')],
    ['what a client sends as __proto__', JSON.parse('{"__proto__":{"toString":"admin"}}')],
    [
      'one whose text cannot be made',
      {
        toString: () => {
          throw new Error('no');
        },
      },
    ],
    ['one whose text is not a text', { toString: () => 5 }],
    ['one whose bytes are not a text', { toString: () => Buffer.from('ff', 'hex').toString() }],
    ['nothing', null],
  ])('is left as it is if it is %s', (_, value) => {
    expect(idToScalar(value)).toBe(value);
  });

  it('is counted by where the application has put it: user, and what key functions answer', () => {
    const id = new ObjectId(HEX);
    expect(textOf('{user._id}', { user: { _id: id } })).toBe(HEX);
    expect(textOf('u:{user.a}{user.b}', { user: { a: id, b: new URL('http://a') } })).toContain(HEX);
    expect(compileKey(() => id as never).read(visitOf({}), CONTEXT)).toBe(HEX);
    expect(compileKey(() => [id, 'a'] as never).read(visitOf({}), CONTEXT)).toBe(`${HEX}|a`);
  });

  it.each(['body', 'params', 'query', 'headers'])('is missing in %s', (root) => {
    for (const value of [new ObjectId(HEX), Buffer.from('a'), new Date(), new URL('http://a'), {}, []])
      expect(textOf(`{${root}.x}`, { [root]: { x: value } })).toBeUndefined();
  });

  it('is missing where it is an object of a client, as in a token', () => {
    for (const json of ['{"id":{}}', '{"id":["a"]}', '{"id":{"toString":"a"}}', '{"id":null}'])
      expect(textOf('{user.id}', { user: JSON.parse(json) as unknown })).toBeUndefined();
  });

  it('is found by the value given by hand', () => {
    const { textFromValues } = compileKey('{user._id}');
    expect([textFromValues([new ObjectId(HEX)], String), textFromValues([HEX], String)]).toEqual([HEX, HEX]);
    expect(compileKey('{body.id}').textFromValues([new ObjectId(HEX)], String)).toBeUndefined();
  });
});
