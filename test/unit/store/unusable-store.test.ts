import { invalidOptions } from '../../../src/core/errors.js';
import { MemoryStore } from '../../../src/store/memory/memory-store.js';
import { storeOrError, UnusableStore } from '../../../src/store/unusable-store.js';

const ERROR = invalidOptions('FreqLimitModule: redis: 5 is not a URL');

describe('storeOrError', () => {
  const memory = (): MemoryStore => new MemoryStore(1, {} as never);

  it('returns the store', async () => {
    const store = memory();
    expect(await storeOrError(undefined, () => Promise.resolve(store))).toBe(store);
  });

  it('makes none if the options are wrong', async () => {
    let made = 0;
    const store = await storeOrError(ERROR, () => Promise.resolve((made++, memory())));
    expect([store, made]).toEqual([new UnusableStore(ERROR), 0]);
  });

  it('keeps the error of a store that cannot be made, but not a fault of the program', async () => {
    expect(await storeOrError(undefined, () => Promise.reject(ERROR))).toEqual(new UnusableStore(ERROR));
    const fault = new TypeError('x is not a function');
    await expect(storeOrError(undefined, () => Promise.reject(fault))).rejects.toBe(fault);
  });
});

it('an unusable store counts nothing: each call gets its error', async () => {
  const store = new UnusableStore(ERROR);
  for (const call of ['consume', 'peek', 'settle', 'reset'] as const) {
    expect(() => store[call]()).toThrow(ERROR);
  }
  await expect(store.open()).rejects.toBe(ERROR);
  expect(store.health()).toMatchObject({ isUp: false, reason: ERROR.message });
  await store.close();
});
