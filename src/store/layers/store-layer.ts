import type { Store, StoreHealth } from '../../core/store.js';

/** A store around another store; passes on what it does not change. */
export abstract class StoreLayer {
  constructor(protected readonly store: Store) {}

  get place(): string {
    return this.store.place;
  }

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
