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
  if (size === 'odd') throw new AggregateError([new TypeError('has no unit'), new TypeError('is odd')]);
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
  ])('throws for %j', (given, message) => {
    const error = thrownBy(() => TABLE.read(given, reader));
    expect(error).toMatchObject({ code: 'FREQ_LIMIT_INVALID_OPTIONS', message });
  });

  it('throws one error for all wrong options: unknown names, then in the order of the table', () => {
    const error = thrownBy(() => TABLE.read({ open: 1, size: 5, colour: 'red', limit: -1 }, reader));
    expect(error.problems).toEqual([
      'here: colour: is not an option (options: limit, mode, size, open)',
      'here: limit: -1 is not a whole number from 0 to 2^53 - 1',
      'here: size: not a size',
      'here: open: 1 is not true or false',
    ]);
  });

  it('does not report an option as missing that has the name of another library', () => {
    expect(thrownBy(() => TABLE.read({ max: 5, mode: 'c' }, reader)).problems).toEqual([
      'here: max: is not an option; did you mean limit?',
      "here: mode: \"c\" is not one of 'a', 'b'",
    ]);
  });

  it('does not report an option as missing that has a similar name', () => {
    expect(thrownBy(() => TABLE.read({ limt: 5 }, reader)).problems).toEqual([
      'here: limt: is not an option; did you mean limit?',
    ]);
  });

  it('names an option whose getter throws, and keeps that error', () => {
    const cause = new TypeError('no vault');
    const given = {
      get limit(): number {
        throw cause;
      },
    };
    const error = thrownBy(() => TABLE.read(given, reader));
    expect(error.message).toBe('here: limit: cannot be read: no vault');
    expect(error.cause).toBe(cause);
  });

  it('writes a name with a line break on one line', () => {
    const error = thrownBy(() => TABLE.read({ limit: 1, 'a\nFREQ_LIMIT_STARTED': 1 }, reader));
    expect(error.message).toContain('here: a\\nFREQ_LIMIT_STARTED: is not an option');
  });

  it('can return the errors by option, with the default in place of a wrong value', () => {
    const { values, errors } = TABLE.readAll({ limit: 5, mode: 'c', size: 'abc' }, reader);
    expect(values).toEqual({ limit: 5, mode: 'a', size: 3, open: undefined });
    expect([...errors.keys()]).toEqual(['mode']);
    const nothing = TABLE.readAll(5, reader);
    expect(nothing.values).toEqual({ limit: undefined, mode: 'a', size: 0, open: undefined });
    expect([...nothing.errors.keys()]).toEqual(['']);
  });

  it('has a line for each error of a parser', () => {
    const { problems } = thrownBy(() => TABLE.read({ limit: 1, size: 'odd' }, reader));
    expect(problems).toEqual(['here: size: has no unit', 'here: size: is odd']);
  });

  it('does not list an option that belongs elsewhere', () => {
    const parse = (): never => {
      throw new TypeError('write it next to the others');
    };
    const table = new OptionTable({
      limit: { validator: COUNT, default: 1 },
      name: { parse, default: undefined, isElsewhere: true },
    });
    expect(table.names).toEqual(['limit']);
    expect(thrownBy(() => table.read({ name: 'x', size: 1 }, reader)).problems).toEqual([
      'here: size: is not an option (options: limit)',
      'here: name: write it next to the others',
    ]);
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
