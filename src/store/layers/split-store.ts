import type { Check, CheckResult } from '../../core/check.js';
import type { MaybePromise } from '../../core/maybe-promise.js';
import {
  type CheckGroup,
  consumeInGroups,
  groupChecks,
  inOriginalOrder,
  peekBeforeConsume,
  type PeekingStore,
} from '../../core/split-request.js';
import { type OutcomeHooks, type Store, withHooks } from '../../core/store.js';
import type { CachedCounts } from './cached-counts.js';
import { RecentDenials } from './recent-denials.js';
import { StoreLayer } from './store-layer.js';

export interface SplitStoreOptions {
  /** Names the group of a check: the store decides checks of one group in one step. */
  readonly groupOf: (check: Check) => string;
  /** The counts that a layer around this one has cached: those of refunded checks are removed. */
  readonly cachedCounts?: CachedCounts | undefined;
  /** Milliseconds that only increase; default: `performance.now` */
  readonly clock?: () => number;
  /** The clock by which the store measures how long a request waits; default: `clock` */
  readonly waitClock?: () => number;
}

/**
 * Splits requests for a store that cannot decide all checks in one step, such as a Cluster with its slots.
 *
 * All groups of a request are charged in parallel. If the request is likely to be denied, it peeks at them first.
 */
export class SplitStore extends StoreLayer implements Store {
  private readonly denials = new RecentDenials();
  private readonly groupOf: (check: Check) => string;
  private readonly cachedCounts: CachedCounts | undefined;
  private readonly clock: () => number;
  private readonly waitClock: () => number;

  constructor(store: Store, options: SplitStoreOptions) {
    super(store);
    this.groupOf = options.groupOf;
    this.cachedCounts = options.cachedCounts;
    this.clock = options.clock ?? (() => performance.now());
    this.waitClock = options.waitClock ?? this.clock;
  }

  consume(
    checks: readonly Check[],
    settleable?: boolean,
    queuedAtMs?: number,
    hooks?: OutcomeHooks,
  ): MaybePromise<CheckResult[]> {
    const groups = groupChecks(checks, this.groupOf);
    return groups.length === 1
      ? this.store.consume(checks, settleable, queuedAtMs, hooks)
      : withHooks(this.consumeGroups(checks, groups), hooks);
  }

  private async consumeGroups(
    checks: readonly Check[],
    groups: readonly CheckGroup[],
  ): Promise<CheckResult[]> {
    const sentAtMs = this.clock();
    const results = await (checks.some((check) => this.denials.isLikelyDenied(check, sentAtMs))
      ? peekBeforeConsume(groups, this.groupStore, this.waitClock())
      : consumeInGroups(groups, this.groupStore));
    this.denials.learn(checks, results, sentAtMs);
    return results;
  }

  /** What a request is split over. Its refunds are part of the request, so they end within its time. */
  private readonly groupStore: PeekingStore = {
    consume: (checks, settleable, queuedAtMs) => this.store.consume(checks, settleable, queuedAtMs),
    peek: (checks) => this.store.peek(checks),
    settle: (checks, results, costs) => {
      // results of calls in progress are cached all the same, or no denial of a split request would ever be cached
      this.cachedCounts?.forget(checks);
      return this.store.settle(checks, results, costs, true);
    },
  };

  async peek(checks: readonly Check[]): Promise<CheckResult[]> {
    const groups = groupChecks(checks, this.groupOf);
    const results = await Promise.all(groups.map(async (group) => this.store.peek(group.checks)));
    return inOriginalOrder(groups, results);
  }

  async settle(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
  ): Promise<CheckResult[]> {
    const groups = groupChecks(checks, this.groupOf);
    const settled = groups.map(async ({ checks: ofGroup, indexes }) => {
      const isOfGroup = (_: unknown, index: number): boolean => indexes.includes(index);
      return this.store.settle(ofGroup, results.filter(isOfGroup), costs.filter(isOfGroup));
    });
    return inOriginalOrder(groups, await Promise.all(settled));
  }

  async renew(checks: readonly Check[]): Promise<(boolean | undefined)[]> {
    const groups = groupChecks(checks, this.groupOf);
    const renewed = await Promise.all(groups.map(async (group) => this.store.renew(group.checks)));
    return inOriginalOrder(groups, renewed);
  }

  async reset(checks: readonly Check[]): Promise<void> {
    const groups = groupChecks(checks, this.groupOf);
    await Promise.all(groups.map(async (group) => this.store.reset(group.checks)));
  }
}
