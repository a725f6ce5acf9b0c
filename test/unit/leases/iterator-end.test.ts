import { isAsyncIterable, withEnd } from '../../../src/leases/iterator-end.js';

async function* two(): AsyncGenerator<number> {
  yield await Promise.resolve(1);
  yield 2;
}

describe('the end of an iterator', () => {
  let ends = 0;
  const onEnd = (): void => {
    ends++;
  };
  beforeEach(() => {
    ends = 0;
  });

  it('comes after its last value', async () => {
    const seen: unknown[] = [];
    for await (const value of withEnd(two(), onEnd)) {
      expect(ends).toBe(0);
      seen.push(value);
    }
    expect([seen, ends]).toEqual([[1, 2], 1]);
  });

  it('comes when the reader stops', async () => {
    const source = two();
    for await (const value of withEnd(source, onEnd)) if (value === 1) break;
    expect(ends).toBe(1);
    expect(await source.next()).toEqual({ done: true, value: undefined });
  });

  it('comes when the reader stops before the first value', async () => {
    const source = two();
    await withEnd(source, onEnd).return?.();
    expect(ends).toBe(1);
    expect(await source.next()).toEqual({ done: true, value: undefined });
  });

  it('comes with an error of the source or of the reader', async () => {
    const failing = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('no')) }),
    };
    await expect(withEnd(failing, onEnd).next()).rejects.toThrow('no');
    await expect(withEnd(two(), onEnd).throw?.(new Error('stop'))).rejects.toThrow('stop');
    await expect(withEnd(failing, onEnd).throw?.(new Error('stop'))).rejects.toThrow('stop');
    expect(await withEnd(failing, onEnd).return?.('x')).toEqual({ done: true, value: 'x' });
    expect(ends).toBe(4);
  });

  it('knows what can be iterated', () => {
    expect([two(), withEnd(two(), onEnd), [1], 'a', null, undefined].map(isAsyncIterable)).toEqual([
      ...[true, true, false, false, false, false],
    ]);
  });
});
