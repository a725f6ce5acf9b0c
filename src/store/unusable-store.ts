import { FreqLimitError } from '../core/errors.js';
import type { Store, StoreHealth } from '../core/store.js';

/**
 * Makes the store. If that fails, or if options are wrong, returns a store without use: the start fails later, with this
 * error among others.
 */
export async function storeOrError(
  error: FreqLimitError | undefined,
  make: () => Promise<Store>,
): Promise<Store> {
  if (error !== undefined) return new UnusableStore(error);
  try {
    return await make();
  } catch (failure) {
    if (failure instanceof FreqLimitError) return new UnusableStore(failure);
    throw failure;
  }
}

/** The store of an application that does not start. A call before that gets the error, so that nothing passes uncounted. */
export class UnusableStore implements Store {
  readonly place = 'nowhere';

  constructor(readonly error: FreqLimitError) {}

  consume(): never {
    throw this.error;
  }

  peek(): never {
    throw this.error;
  }

  settle(): never {
    throw this.error;
  }

  renew(): never {
    throw this.error;
  }

  reset(): never {
    throw this.error;
  }

  health(): StoreHealth {
    return { store: 'memory', isUp: false, reason: this.error.message, since: undefined };
  }

  open(): Promise<void> {
    return Promise.reject(this.error);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
