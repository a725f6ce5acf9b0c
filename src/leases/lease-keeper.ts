import { clearInterval, setInterval } from 'node:timers';
import type { Check, CheckResult } from '../core/check.js';
import { LEASE_TIMES } from '../core/leases.js';
import type { Store } from '../core/store.js';
import { nestLog } from '../nest/log.js';
import { HeldLeases, type HoldOptions, type Leases } from './held-leases.js';

const LOG_PERIOD_MS = 10_000;
/** The maximum number of leases that one call releases, which blocks the server for about 2 ms. */
const MAX_RELEASED = 256;
// captured here, because a test may replace timers later
const startInterval = setInterval;
const stopInterval = clearInterval;

/** By the store that has the leases, so that all guards and services of an application share one. */
const keepers = new WeakMap<Store, LeaseKeeper>();

/**
 * Keeps the leases of this process: it renews all of them in one call, releases each once, and the rest at shutdown. It has a
 * timer only while there are some.
 */
export class LeaseKeeper {
  private readonly held = new Set<HeldLeases>();
  private readonly log = nestLog.limited(LOG_PERIOD_MS);
  private timer: NodeJS.Timeout | undefined;
  private isRenewing = false;
  private isClosed = false;

  constructor(
    private readonly store: Store,
    private readonly times = LEASE_TIMES,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** The keeper of a store's leases. */
  static of(store: Store): LeaseKeeper {
    const known = keepers.get(store);
    if (known !== undefined) return known;
    const keeper = new LeaseKeeper(store);
    keepers.set(store, keeper);
    return keeper;
  }

  /**
   * Holds the leases that checks have taken, until they are released. After `close` it releases them at once.
   * @param results what the store returned for these checks
   */
  hold(checks: readonly Check[], results: readonly CheckResult[], options: HoldOptions): Leases {
    const { lifeMs } = this.times;
    const leases = new HeldLeases({ checks, results, lifeMs, ...options }, this.clock, (one, isClaimed) => {
      this.end(one, isClaimed);
    });
    if (this.isClosed) {
      leases.forget(true);
      void this.release([leases]);
    } else this.add(leases);
    return leases;
  }

  /** Milliseconds by the clock of {@link HoldOptions.takenAtMs}. */
  now(): number {
    return this.clock();
  }

  /** Releases all, in one call of the store. Call it when no more requests come, before the store is closed. */
  async close(): Promise<void> {
    this.isClosed = true;
    const all = [...this.held];
    this.held.clear();
    this.stop();
    for (const leases of all) leases.forget(true);
    await this.release(all);
  }

  private add(leases: HeldLeases): void {
    this.held.add(leases);
    this.timer ??= startInterval(() => void this.renewAll(), this.times.renewEveryMs).unref();
  }

  private stop(): void {
    stopInterval(this.timer);
    this.timer = undefined;
  }

  /** @param isClaimed whether they are used after all, although they were given up */
  private end(leases: HeldLeases, isClaimed: boolean): void {
    if (isClaimed) {
      if (this.isClosed) return;
      this.add(leases);
      void this.renew([leases]);
      return;
    }
    if (this.held.delete(leases)) void this.release([leases]);
  }

  private async renewAll(): Promise<void> {
    for (const leases of this.held) leases.giveUpIfUnclaimed(this.times.renewEveryMs);
    if (this.held.size === 0) this.stop();
    if (this.held.size === 0 || this.isRenewing) return;
    // a call that takes longer than a period is not sent again meanwhile
    this.isRenewing = true;
    try {
      await this.renew([...this.held]);
    } finally {
      this.isRenewing = false;
    }
  }

  private async renew(all: readonly HeldLeases[]): Promise<void> {
    const sentAtMs = this.clock();
    for (const leases of all) leases.watchEnd();
    const answers = await this.answers(all.flatMap(({ checks }) => checks));
    let next = 0;
    let lapsed = 0;
    const released: HeldLeases[] = [];
    for (const leases of all) {
      const own = answers.slice(next, (next += leases.checks.length));
      if (!this.held.has(leases)) {
        // a renewal that arrived after the release has taken the slot again
        if (own.some((wasThere) => wasThere !== true)) released.push(leases);
        continue;
      }
      leases.noteRenewal(own, sentAtMs);
      lapsed += own.filter((wasThere) => wasThere === false).length;
    }
    if (lapsed > 0) this.reportLapsed(lapsed);
    await this.release(released);
  }

  private async answers(checks: readonly Check[]): Promise<readonly (boolean | undefined)[]> {
    try {
      return await this.store.renew(checks);
    } catch {
      return checks.map(() => undefined);
    }
  }

  /** All calls are sent in one turn. */
  private async release(all: readonly HeldLeases[]): Promise<void> {
    const checks = all.flatMap((leases) => leases.checks);
    const results = all.flatMap((leases) => leases.results);
    const calls: Promise<void>[] = [];
    for (let from = 0; from < checks.length; from += MAX_RELEASED) {
      const to = from + MAX_RELEASED;
      calls.push(this.releaseSome(checks.slice(from, to), results.slice(from, to)));
    }
    await Promise.all(calls);
  }

  private async releaseSome(checks: readonly Check[], results: readonly CheckResult[]): Promise<void> {
    try {
      await this.store.settle(
        checks,
        results,
        checks.map(() => 0),
      );
    } catch {
      // then they lapse, because they are not renewed any more
    }
  }

  private reportLapsed(count: number): void {
    const slots = count === 1 ? '1 slot of a rule' : `${count} slots of rules`;
    this.log.warn(
      'FREQ_LIMIT_LEASE_LAPSED',
      'lapsed',
      `${slots} with concurrency lapsed before this process renewed them, and are taken again. For a short time, more requests ` +
        'may have run at once than allowed. This process or Redis did not run for some time, Redis lost its data, or reset was ' +
        'called.',
    );
  }
}
