import {
  aFunction,
  BOOLEAN,
  COUNT,
  either,
  type Validator,
  matching,
  objectOf,
  oneOf,
  OptionReader,
  wholeNumber,
} from '../../../src/core/validate.js';
import { thrownBy } from '../fixtures.js';

class WrongOption extends Error {}
const BROKEN = new Error('bad window');
const reader = new OptionReader('@FreqLimit on A.b', (message, cause) => new WrongOption(message, { cause }));

describe('a validator', () => {
  it.each<[string, Validator<unknown>, readonly unknown[], readonly unknown[]]>([
    ['COUNT', COUNT, [0, 1, 2 ** 53 - 1], [-1, 1.5, NaN, Infinity, 2 ** 53, '5', 5n, null, undefined, [5]]],
    ['BOOLEAN', BOOLEAN, [true, false], ['true', 0, 1, null, undefined]],
    ['aFunction', aFunction(), [() => 1, class {}], [{}, 'f', null, undefined]],
    ['oneOf', oneOf('a', 'b'), ['a', 'b'], ['c', '', ['a'], null, undefined]],
    ['either', either(COUNT, aFunction()), [3, () => 3], ['3', -1, null]],
    ['wholeNumber', wholeNumber(32, 128), [32, 64, 128], [31, 129, 64.5, '64', NaN, null]],
    ['matching', matching(/^a+$/, 'some a'), ['a', 'aaa'], ['', 'b', 1, null, ['a']]],
    ['objectOf', objectOf('an object'), [{}, { a: 1 }], [[], null, undefined, 'a', () => 1]],
  ])('%s accepts valid values and no others', (_, validator, valid, others) => {
    expect(valid.filter((value) => !validator.test(value))).toEqual([]);
    expect(others.filter((value) => validator.test(value))).toEqual([]);
  });

  it.each([
    [oneOf('a', 'b'), "one of 'a', 'b'"],
    [either(BOOLEAN, aFunction()), 'true or false, or a function'],
    [wholeNumber(1, 9), 'a whole number from 1 to 9'],
  ])('describes what it expects', (validator: Validator<unknown>, expected) => {
    expect(validator.expected).toBe(expected);
  });
});

describe('OptionReader', () => {
  it('returns valid values', () => {
    expect(reader.required('limit', 5, COUNT)).toBe(5);
    expect(reader.optional('limit', 0, COUNT)).toBe(0);
  });

  it('treats undefined as not given, and null as wrong', () => {
    expect(reader.optional('limit', undefined, COUNT)).toBeUndefined();
    expect(() => reader.optional('limit', null, COUNT)).toThrow('limit: null is not a whole number');
  });

  it.each([
    [undefined, '@FreqLimit on A.b: limit: is missing; expected a whole number from 0 to 2^53 - 1'],
    [-1, '@FreqLimit on A.b: limit: -1 is not a whole number from 0 to 2^53 - 1'],
  ])('names the place, the option and what is expected for %p', (value, message) => {
    const error = thrownBy(() => reader.required('limit', value, COUNT));
    expect(error).toBeInstanceOf(WrongOption);
    expect(error.message).toBe(message);
  });

  it.each<[unknown, Validator<unknown>, string]>([
    ['5', COUNT, '; it is a string, perhaps from the environment: write Number(…)'],
    ['250', wholeNumber(1, 60_000), '; it is a string, perhaps from the environment: write Number(…)'],
    ['5', { ...COUNT, toNumber: 'five' }, '; it is a string, perhaps from the environment: write five'],
    ['true', BOOLEAN, "; it is a string, perhaps from the environment: write … === 'true'"],
    ['FALSE', BOOLEAN, "; it is a string, perhaps from the environment: write … === 'true'"],
    ['0', BOOLEAN, "; it is a string, perhaps from the environment: write … === 'true'"],
    [NaN, COUNT, '; Number(undefined) is NaN: is an environment variable not set?'],
    ['', COUNT, ''],
    ['0', wholeNumber(1, 60_000), ''],
    ['5x', COUNT, ''],
    ['1e3', COUNT, ''],
    ['5', BOOLEAN, ''],
    ['5', oneOf('a', 'b'), ''],
    ['true', COUNT, ''],
    [5, BOOLEAN, ''],
  ])('says how to convert %p only to what is expected', (value, validator, hint) => {
    const error = thrownBy(() => reader.required('limit', value, validator));
    expect(error.message.split(validator.expected)[1]).toBe(hint);
  });

  it.each([[5], [null], [undefined], ['text'], [[]], [() => 1]])(
    'throws for %p in place of an object',
    (value) => {
      expect(() => reader.object(value, ['window', 'limit'])).toThrow(
        /^@FreqLimit on A\.b: .+ is not an object with the options window, limit$/,
      );
    },
  );

  const hints = { ttl: 'window', age: (value: unknown) => ({ advice: `${String(value)} is too old` }) };
  it.each([
    [{ ttl: 1 }, 'ttl: is not an option; did you mean window?'],
    [{ limt: 1 }, 'limt: is not an option; did you mean limit?'],
    [{ age: 5 }, 'age: is not an option; 5 is too old'],
    [{ size: 1 }, 'size: is not an option (options: window, limit)'],
    [{ toString: 1 }, 'toString: is not an option (options: window, limit)'],
    [JSON.parse('{"__proto__":1}'), '__proto__: is not an option (options: window, limit)'],
  ])('throws for an unknown option: %j', (value, message) => {
    expect(() => reader.object(value, ['window', 'limit'], hints)).toThrow(message);
  });

  it.each<[string, Error, Error | undefined]>([
    ['not a parser’s own, whose message is shown already', new RangeError('bad window'), undefined],
    ['that which led to it', new TypeError('bad window', { cause: BROKEN }), BROKEN],
    ['any other error', BROKEN, BROKEN],
  ])('adds place and option to the error of a parser; the cause is %s', (_, thrown, cause) => {
    const error = thrownBy(() =>
      reader.parsed('window', () => {
        throw thrown;
      }),
    );
    expect(error.message).toBe('@FreqLimit on A.b: window: bad window');
    expect(error.cause).toBe(cause);
  });
});
