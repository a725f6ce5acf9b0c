import { all, attempt, isPromise, type MaybePromise, andThen } from '../../../src/core/maybe-promise.js';

const later = <T>(value: T): MaybePromise<T> => Promise.resolve(value);
const thenable: PromiseLike<number> = { then: (next) => Promise.resolve(7).then(next) };

describe('isPromise', () => {
  it.each<[unknown, boolean]>([
    [Promise.resolve(), true],
    [thenable, true],
    [{ then: 1 }, false],
    [{}, false],
    [null, false],
    [undefined, false],
    [5, false],
    ['then', false],
  ])('of %p is %p', (value, answer) => {
    expect(isPromise(value)).toBe(answer);
  });
});

describe('attempt', () => {
  it('returns a value synchronously', () => {
    expect(attempt(() => 5)).toBe(5);
  });

  it('turns a throw into a rejection with the same value', async () => {
    const failed = attempt(() => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- anything may be thrown
      throw 'a string';
    });
    await expect(failed).rejects.toBe('a string');
  });
});

describe('andThen', () => {
  it('continues synchronously with a value', () => {
    expect(andThen(2, (value) => value + 1)).toBe(3);
  });

  it.each([
    [later(2), 3],
    [thenable, 8],
  ])('waits for a promise', async (value, answer) => {
    await expect(andThen(value, (value) => value + 1)).resolves.toBe(answer);
  });
});

describe('all', () => {
  it('continues synchronously if there is no promise', () => {
    expect(all<[number, string], string>([2, 'a'], ([n, text]) => text.repeat(n))).toBe('aa');
    expect(all<number[], number>([], (values) => values.length)).toBe(0);
  });

  it('waits for promises and keeps the order', async () => {
    const joined = all<number[], string>([1, later(2), 3], (values) => values.join());
    await expect(joined).resolves.toBe('1,2,3');
  });

  it('rejects with the first failure', async () => {
    const failing = [Promise.reject(new Error('first')), Promise.reject(new Error('second'))];
    await expect(all<number[], number>(failing, () => 1)).rejects.toThrow('first');
  });
});
