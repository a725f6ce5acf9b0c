import {
  aFunction,
  BOOLEAN,
  COUNT,
  either,
  type Validator,
  matching,
  oneOf,
  OptionReader,
  wholeNumber,
} from '../../../src/core/validate.js';
import { thrownBy } from '../fixtures.js';

class Complaint extends Error {}
const properties = new OptionReader(
  '@FreqLimit on A.b',
  (message, cause) => new Complaint(message, { cause }),
);

describe('a form', () => {
  it.each<[string, Validator<unknown>, readonly unknown[], readonly unknown[]]>([
    ['COUNT', COUNT, [0, 1, 2 ** 53 - 1], [-1, 1.5, NaN, Infinity, 2 ** 53, '5', 5n, null, undefined, [5]]],
    ['BOOLEAN', BOOLEAN, [true, false], ['true', 0, 1, null, undefined]],
    ['aFunction', aFunction(), [() => 1, class {}], [{}, 'f', null, undefined]],
    ['oneOf', oneOf('a', 'b'), ['a', 'b'], ['c', '', ['a'], null, undefined]],
    ['either', either(COUNT, aFunction()), [3, () => 3], ['3', -1, null]],
    ['wholeNumber', wholeNumber(32, 128), [32, 64, 128], [31, 129, 64.5, '64', NaN, null]],
    ['matching', matching(/^a+$/, 'some a'), ['a', 'aaa'], ['', 'b', 1, null, ['a']]],
  ])('%s fits what it is for and nothing else', (_, form, fitting, others) => {
    expect(fitting.filter((value) => !form.test(value))).toEqual([]);
    expect(others.filter((value) => form.test(value))).toEqual([]);
  });

  it.each([
    [oneOf('a', 'b'), "one of 'a', 'b'"],
    [either(BOOLEAN, aFunction()), 'true or false, or a function'],
    [wholeNumber(1, 9), 'a whole number from 1 to 9'],
  ])('says in words what it is', (form: Validator<unknown>, words) => {
    expect(form.expected).toBe(words);
  });
});

describe('Properties', () => {
  it('hands over what fits', () => {
    expect(properties.required('limit', 5, COUNT)).toBe(5);
    expect(properties.optional('limit', 0, COUNT)).toBe(0);
  });

  it('takes undefined as not given, and null as wrong', () => {
    expect(properties.optional('limit', undefined, COUNT)).toBeUndefined();
    expect(() => properties.optional('limit', null, COUNT)).toThrow('limit: null is not a whole number');
  });

  it.each([
    [undefined, '@FreqLimit on A.b: limit: is missing: a whole number from 0 to 2^53 - 1'],
    ['5', '@FreqLimit on A.b: limit: "5" is not a whole number from 0 to 2^53 - 1'],
  ])('names place, property, value and form of a wrong %p', (value, message) => {
    const error = thrownBy(() => properties.required('limit', value, COUNT));
    expect(error).toBeInstanceOf(Complaint);
    expect(error.message).toBe(message);
  });

  it.each([[5], [null], [undefined], ['text'], [[]], [() => 1]])(
    'refuses %p where an object belongs',
    (value) => {
      expect(() => properties.object(value, ['window', 'limit'])).toThrow(
        /^@FreqLimit on A\.b: .+ is not an object of window, limit$/,
      );
    },
  );

  it.each([
    [{ ttl: 1 }, 'ttl: is not known here; did you mean window? (known: window, limit)'],
    [{ size: 1 }, 'size: is not known here (known: window, limit)'],
    [{ toString: 1 }, 'toString: is not known here (known: window, limit)'],
    [JSON.parse('{"__proto__":1}'), '__proto__: is not known here (known: window, limit)'],
  ])('refuses a property that nobody reads: %j', (value, message) => {
    expect(() => properties.object(value, ['window', 'limit'], { ttl: 'window' })).toThrow(message);
  });

  it('turns a parser complaint into its own, with the cause', () => {
    const cause = new RangeError('bad window');
    const error = thrownBy(() =>
      properties.parsed('window', () => {
        throw cause;
      }),
    );
    expect(error).toMatchObject({ message: '@FreqLimit on A.b: window: bad window', cause });
  });
});
