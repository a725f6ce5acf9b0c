/** An iterator, or something that has one. */
type Source = Partial<AsyncIterator<unknown>> & AsyncIterable<unknown>;

/** Whether a value can be iterated asynchronously, as the result of a GraphQL subscription. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Source)[Symbol.asyncIterator] === 'function'
  );
}

/** The same values, with a function that is called when the iteration ends, fails or is stopped. */
export function withEnd(source: AsyncIterable<unknown>, onEnd: () => void): AsyncIterableIterator<unknown> {
  let iterator: AsyncIterator<unknown> | undefined;
  // drivers call `next` of what a resolver returns, or ask for its iterator first
  const started = (): AsyncIterator<unknown> => (iterator ??= source[Symbol.asyncIterator]());
  return {
    async next(...values: [] | [unknown]) {
      try {
        const result = await started().next(...values);
        if (result.done === true) onEnd();
        return result;
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    async return(value?: unknown) {
      onEnd();
      return (await started().return?.(value)) ?? { done: true, value };
    },
    async throw(error?: unknown) {
      onEnd();
      const result = await started().throw?.(error);
      if (result === undefined) throw error;
      return result;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
