import { invalidOptions } from '../../../src/core/errors.js';
import { type EntriesFor, OptionTable } from '../../../src/core/option-table.js';
import { BOOLEAN, COUNT, OptionReader, oneOf } from '../../../src/core/validate.js';
import { thrownBy } from '../fixtures.js';

interface Options {
  readonly limit: number;
  readonly mode?: 'a' | 'b' | undefined;
  readonly size?: string | undefined;
  readonly open?: boolean | undefined;
}

const reader = new OptionReader('here', invalidOptions);

function parseSize(size: unknown, at: OptionReader): number {
  if (size === 'huge') throw at.invalid('size', 'is too large');
  if (typeof size !== 'string') throw new RangeError('not a size');
  return size.length;
}

const TABLE = new OptionTable(
  {
    limit: { validator: COUNT, isRequired: true },
    mode: { validator: oneOf('a', 'b'), default: 'a' },
    size: { parse: parseSize, default: 0 },
    open: { validator: BOOLEAN, default: undefined },
  } as const satisfies EntriesFor<Options>,
  { max: 'limit' },
);

describe('OptionTable', () => {
  it('has the names of its options, in order', () => {
    expect(TABLE.names).toEqual(['limit', 'mode', 'size', 'open']);
  });

  it('fills in defaults, also for undefined', () => {
    const values = { limit: 5, mode: 'a', size: 0, open: undefined };
    expect(TABLE.read({ limit: 5 }, reader)).toEqual(values);
    expect(TABLE.read({ limit: 5, mode: undefined, size: undefined }, reader)).toEqual(values);
  });

  it('keeps valid values, and parses those with a parser', () => {
    expect(TABLE.read({ limit: 0, mode: 'b', size: 'abc', open: false }, reader)).toEqual({
      limit: 0,
      mode: 'b',
      size: 3,
      open: false,
    });
  });

  it('reads options that an object inherits', () => {
    const given: unknown = Object.create({ limit: 7 });
    expect(TABLE.read(given, reader).limit).toBe(7);
  });

  it.each([
    [5, 'here: 5 is not an object with the options limit, mode, size, open'],
    [{ limit: 1, max: 5 }, 'here: max: is not an option; did you mean limit?'],
    [{}, 'here: limit: is missing; expected a whole number from 0 to 2^53 - 1'],
    [{ limit: 1, mode: 'c' }, "here: mode: \"c\" is not one of 'a', 'b'"],
    [{ limit: 1, mode: null }, "here: mode: null is not one of 'a', 'b'"],
    [{ limit: 1, size: 5 }, 'here: size: not a size'],
    [{ limit: 1, size: 'huge' }, 'here: size: is too large'],
    [{ limit: -1, mode: 'c' }, 'here: limit: -1 is not a whole number from 0 to 2^53 - 1'],
  ])('throws for %j', (given, message) => {
    const error = thrownBy(() => TABLE.read(given, reader));
    expect(error).toMatchObject({ code: 'FREQ_LIMIT_INVALID_OPTIONS', message });
  });

  it('keeps the error of a parser as the cause', () => {
    expect(thrownBy(() => TABLE.read({ limit: 1, size: 5 }, reader)).cause).toBeInstanceOf(RangeError);
  });

  it('does not compile without an entry for each option, or with an unknown one', () => {
    const all = {
      limit: { validator: COUNT, isRequired: true },
      mode: { validator: BOOLEAN, default: 1 },
    } as const;
    // @ts-expect-error -- the entry of `open` is missing
    expect(all satisfies EntriesFor<Pick<Options, 'limit' | 'mode' | 'open'>>).toBe(all);
    const unknown: EntriesFor<Pick<Options, 'limit'>> = {
      limit: { validator: COUNT, isRequired: true },
      // @ts-expect-error -- not an option
      mode: { validator: BOOLEAN, default: true },
    };
    expect(Object.keys(unknown)).toEqual(['limit', 'mode']);
  });
});
