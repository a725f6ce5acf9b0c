import { setImmediate as nextTurn } from 'node:timers/promises';
import { isFreqLimitError } from '../../../src/core/errors.js';
import { planOf } from '../../../src/rules/plan.js';
import { toChecks } from '../../../src/rules/to-checks.js';
import { CONTEXT, DEFAULTS, declared, OWNER, requestOf } from '../fixtures.js';

const PLACE = '@FreqLimit on SmsController.send';
const COUNT = 'a whole number from 0 to 2^53 - 1';

async function failureOf(...rules: readonly object[]): Promise<Error & { code?: string }> {
  const all = rules.map((rule) => declared({ window: '1m', limit: 5, ...rule }, 'handler', PLACE));
  const plan = planOf([{ rules: all, skip: undefined }], OWNER, DEFAULTS)!;
  try {
    await toChecks(plan, requestOf({}, '203.0.113.7'), CONTEXT, () => undefined);
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing failed');
}

const after = async (turns: number, message: string): Promise<never> => {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
  throw new Error(message);
};
const throwing = (message: string) => (): never => {
  throw new Error(message);
};

describe.each(['limit', 'cost'])('a %s function', (property) => {
  it.each([[NaN], [undefined], [null], ['5'], [-1], [Infinity], [2.5], [2 ** 53], [5n], [true], [{}], [[5]]])(
    'fails the request if it returns %p, sync or async',
    async (answer) => {
      for (const run of [() => answer, async () => answer]) {
        const error = await failureOf({ name: 'hourly', [property]: run });
        expect(error.code).toBe('FREQ_LIMIT_RULE_FAILED');
        expect(error.message).toContain(PLACE);
        expect(error.message).toContain('"hourly"');
        expect(error.message).toContain(`the ${property} function returned`);
        expect(error.message).toContain(COUNT);
      }
    },
  );
});

describe('a window function', () => {
  it.each([[0], [NaN], ['60'], [''], ['1 fortnight'], [undefined], [null], [{}]])(
    'fails the request if it returns %p, sync or async',
    async (answer) => {
      for (const window of [() => answer, async () => answer]) {
        const error = await failureOf({ name: 'hourly', window });
        expect(error.code).toBe('FREQ_LIMIT_RULE_FAILED');
        expect(error.message).toContain(
          `${PLACE}, rule "hourly": the window function returned an invalid value: `,
        );
      }
    },
  );
});

describe('a function that throws', () => {
  it.each(['key', 'window', 'limit', 'cost', 'skipIf'])(
    'for %s fails the request, with the cause',
    async (property) => {
      const cause = new Error('no luck\nforged line');
      const ask = [
        () => {
          throw cause;
        },
        () => Promise.reject(cause),
      ];
      for (const fails of ask) {
        const error = await failureOf({ name: 'hourly', [property]: fails });
        expect(isFreqLimitError(error)).toBe(true);
        expect(error.code).toBe('FREQ_LIMIT_RULE_FAILED');
        expect(error.message).toBe(
          `${PLACE}, rule "hourly": the ${property} function failed: no luck\\nforged line`,
        );
        expect(error.cause).toBe(cause);
      }
    },
  );

  it('fails in a list of key parts as well', async () => {
    const error = await failureOf({ key: ['{ip}', throwing('no tenant')] });
    expect(error.message).toContain('the key function failed: no tenant');
  });

  it.each([
    ['a string', 'a string'],
    ['undefined', undefined],
    ['null', null],
  ])('fails with %s too', async (_, thrown) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- anything may be thrown
    const limit = (): Promise<never> => Promise.reject(thrown);
    expect((await failureOf({ limit })).code).toBe('FREQ_LIMIT_RULE_FAILED');
  });
});

describe('several functions that fail', () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => {
    unhandled.push(reason);
  };

  beforeAll(() => {
    process.on('unhandledRejection', note);
  });

  afterAll(() => {
    process.off('unhandledRejection', note);
  });

  it('fail with the first error, and leave no unhandled rejection', async () => {
    const error = await failureOf(
      { name: 'one', key: () => after(3, 'key of one'), limit: () => after(1, 'limit of one') },
      { name: 'two', key: throwing('key of two'), limit: () => after(2, 'limit of two') },
      { name: 'three', limit: () => after(4, 'limit of three'), skipIf: async () => false },
      { name: 'four', skipIf: () => after(2, 'skipIf of four') },
      { name: 'five', key: ['{ip}', () => after(2, 'part of five'), throwing('part of five')] },
    );
    expect(error.message).toBe(`${PLACE}, rule "two": the key function failed: key of two`);
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(unhandled).toEqual([]);
  });

  it('fail with the error that comes first if all are async', async () => {
    const error = await failureOf(
      { name: 'one', limit: () => after(4, 'slow') },
      { name: 'two', limit: () => after(1, 'fast') },
    );
    expect(error.message).toContain('fast');
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(unhandled).toEqual([]);
  });
});
