/** A value, or a promise of it. Code that need not wait does not pay for a promise. */
export type MaybePromise<T> = T | PromiseLike<T>;

export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

/** Calls a function that may throw or reject. Either becomes a rejection, so that work started before it is still awaited. */
export function attempt<T>(run: () => MaybePromise<T>): MaybePromise<T> {
  try {
    return run();
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller gets what was thrown
    return Promise.reject(error);
  }
}

/** Continues with several values: synchronously if none is a promise, else when all are resolved. */
export function all<T extends readonly unknown[], R>(
  values: { readonly [I in keyof T]: MaybePromise<T[I]> },
  next: (values: T) => R,
): MaybePromise<R> {
  const list = values as readonly unknown[];
  return list.some(isPromise)
    ? Promise.all(list).then((resolved) => next(resolved as unknown as T))
    : next(list as T);
}

/** Continues with a value: synchronously if it is not a promise, else when it is resolved. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  // the `then` of another library's thenable may throw or return anything
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value);
}
