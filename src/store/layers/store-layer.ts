import type { Store, StoreHealth } from '../../core/store.js';

/** What every store around another store leaves to it. */
export abstract class StoreLayer {
  constructor(protected readonly store: Store) {}

  health(): StoreHealth {
    return this.store.health();
  }

  open(): Promise<void> {
    return this.store.open();
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
