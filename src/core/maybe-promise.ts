/** A value that is here already, or will be. What need not wait does not pay for a promise. */
export type MaybePromise<T> = T | PromiseLike<T>;

export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

/** Runs something that may wait: a throw becomes a rejection, so that what was begun before it is still awaited. */
export function attempt<T>(run: () => MaybePromise<T>): MaybePromise<T> {
  try {
    return run();
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- whatever was thrown goes on as it is
    return Promise.reject(error);
  }
}

/** Goes on with several values: at once if all are here, else when all have come. */
export function all<T extends readonly unknown[], R>(
  values: { readonly [I in keyof T]: MaybePromise<T[I]> },
  next: (values: T) => R,
): MaybePromise<R> {
  const list = values as readonly unknown[];
  return list.some(isPromise)
    ? Promise.all(list).then((known) => next(known as unknown as T))
    : next(list as T);
}

/** Goes on with a value: at once if it is here, else when it comes. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  // a thenable may throw or return anything from `then`, so it is wrapped in a real promise
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value);
}
