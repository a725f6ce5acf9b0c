import { Inject, Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import type { CheckResult } from './core/check.js';
import { isPromise, type MaybePromise } from './core/maybe-promise.js';
import type { Store, StoreHealth } from './core/store.js';
import {
  FREQ_LIMIT_EVENTS,
  FREQ_LIMIT_PLANS,
  FREQ_LIMIT_RESOLVED_OPTIONS,
  FREQ_LIMIT_STORE,
} from './core/tokens.js';
import { toVerdict, UNLIMITED, type Verdict } from './core/verdict.js';
import { NamedCharges, type SettleableVerdict } from './decisions/charge.js';
import type { VerdictEvents } from './decisions/events.js';
import { RequestCharges } from './decisions/request-charges.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import { type Held, type HoldResult, runHeld } from './leases/held-work.js';
import { LeaseKeeper } from './leases/lease-keeper.js';
import { takenBy } from './leases/taken.js';
import { checkService } from './nest/made-by-nest.js';
import type { FreqLimitPlans } from './plans/plans.js';
import { type ShareCheck, withShares } from './rules/max-share.js';
import type { FreqLimitCheck, HoldCheck } from './rules/service-check-types.js';
import { notAFunction, tooManyArguments } from './rules/service-mistakes.js';
import { type ConsumeOptions, readConsumeOptions } from './rules/service-options.js';
import { ServiceChecks } from './rules/service-checks.js';
import { logServiceWindows } from './warnings/window-warnings.js';

/** How many results are returned before the event loop may turn: they take some milliseconds. */
const RESULTS_PER_TURN = 2_000;
// captured here, because a test may replace timers later
const nextTurn = setImmediate;

/** How messages name what is settled. */
const CHECKS_OF_CONSUME = (): { thing: string; place: string } => ({ thing: 'check', place: 'consume' });

/** A call of `consume`. */
interface ServiceCall {
  readonly checks: readonly ShareCheck[];
  readonly settles: boolean;
}

/**
 * Limits and counts outside of the guard: in providers, queue workers, cron jobs.
 *
 * All checks of one call go to the store together. Either all of them are charged or none, except those with
 * `countDenied`. If the store cannot answer, `onStoreError` of the checks decides.
 */
@Injectable()
export class FreqLimitService {
  private readonly checks: ServiceChecks;
  private readonly leases: LeaseKeeper;
  private results = 0;

  constructor(
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_PLANS) plans: FreqLimitPlans,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) options: ResolvedOptions,
    @Inject(FREQ_LIMIT_EVENTS) private readonly events: VerdictEvents,
  ) {
    checkService(FreqLimitService, events);
    this.leases = LeaseKeeper.of(store);
    this.checks = new ServiceChecks(
      options,
      (controller, handler) => plans.rulesOf(controller, handler),
      logServiceWindows(),
    );
  }

  /**
   * Decides whether something may happen now, and charges it if it may. A denial is a return value, not an exception.
   * @param checks one check, or up to 1,000 that are decided together; with an empty list everything is allowed
   * @param options `{ settle: true }`: the real cost is known only afterwards
   * @returns `allowed`, a result for each check in the same order, and `settle`
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` if a check is wrong; nothing is charged
   * @throws {FreqLimitError} `FREQ_LIMIT_STORE_FAILED` if the store cannot answer and `onStoreError` of a check is `'deny'`
   */
  consume(
    checks: FreqLimitCheck | readonly FreqLimitCheck[],
    options: ConsumeOptions & { readonly settle: true },
  ): Promise<SettleableVerdict>;
  /**
   * Decides whether something may happen now, and charges it if it may. A denial is a return value, not an exception.
   * @param checks one check, or up to 1,000 that are decided together; with an empty list everything is allowed
   * @param options none
   * @returns `allowed`, and a result for each check in the same order
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` if a check is wrong; nothing is charged
   * @throws {FreqLimitError} `FREQ_LIMIT_STORE_FAILED` if the store cannot answer and `onStoreError` of a check is `'deny'`
   */
  consume(
    checks: FreqLimitCheck | readonly FreqLimitCheck[],
    options?: ConsumeOptions & { readonly settle?: false | undefined },
  ): Promise<Verdict>;
  // other libraries have other arguments
  consume(
    checks: FreqLimitCheck | readonly FreqLimitCheck[],
    options?: unknown,
  ): Promise<Verdict | SettleableVerdict> {
    // not `async`, which creates more promises for each call
    try {
      const settles = options !== undefined && readConsumeOptions(options, checks).settle;
      const resolved = this.checks.resolve(checks, 'consume');
      const call = { checks: resolved, settles };
      if (resolved.length === 0) return Promise.resolve(this.conclude(UNLIMITED, [], call));
      const results = this.yielding(this.store.consume(resolved, settles));
      return isPromise(results)
        ? Promise.resolve(results).then((known) => this.report(known, call))
        : Promise.resolve(this.report(results, call));
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller gets what was thrown
      return Promise.reject(error);
    }
  }

  /**
   * Runs a function with a slot of each check with `concurrency`, if all checks allow it. Rates and slots are decided together,
   * in one call of the store. The slots are released when the function has ended, also with an error.
   * @param checks one check, or up to 1,000
   * @param run gets the verdict, and a signal that aborts if a slot may be lost
   * @returns `{ allowed: true, verdict, value }` with what the function returned, or `{ allowed: false, verdict }`
   * @throws {FreqLimitError} as `consume` does
   * @throws what the function throws
   */
  async hold<T>(
    checks: HoldCheck | readonly HoldCheck[],
    run: (held: Held) => T | PromiseLike<T>,
  ): Promise<HoldResult<T>> {
    if (typeof run !== 'function') throw notAFunction(run);
    const resolved = this.checks.resolve(checks, 'hold');
    const takenAtMs = this.leases.now();
    const results = resolved.length === 0 ? [] : await this.yielding(this.store.consume(resolved));
    const call = { checks: resolved, settles: false };
    const verdict = resolved.length === 0 ? UNLIMITED : this.report(results, call);
    if (!verdict.allowed) return { allowed: false, verdict };
    const work = { ...takenBy(resolved, results), verdict, takenAtMs };
    return { allowed: true, verdict, value: await runHeld(this.leases, work, run) };
  }

  /**
   * Returns what `consume` would return now, each check by itself, and charges nothing.
   * @param checks one check, or up to 1,000
   * @throws {FreqLimitError} as `consume` does
   */
  peek(checks: HoldCheck | readonly HoldCheck[]): Promise<Verdict>;
  // other libraries have more arguments
  async peek(checks: HoldCheck | readonly HoldCheck[], more?: unknown): Promise<Verdict> {
    if (more !== undefined) throw tooManyArguments('peek', checks, more);
    const resolved = this.checks.resolve(checks, 'peek');
    if (resolved.length === 0) return UNLIMITED;
    return toVerdict(withShares(resolved, await this.yielding(this.store.peek(resolved))));
  }

  /**
   * Deletes the counters of these checks, ends their blocks, and forgets earlier ones: the next charge opens a new window. Does
   * nothing for a counter that does not exist.
   * @param checks one check, or up to 1,000
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` if a check is wrong, for instance if its rule does not exist
   * @throws {FreqLimitError} `FREQ_LIMIT_STORE_FAILED` if the store cannot answer, whatever `onStoreError` is
   */
  reset(checks: HoldCheck | readonly HoldCheck[]): Promise<void>;
  // other libraries have more arguments
  async reset(checks: HoldCheck | readonly HoldCheck[], more?: unknown): Promise<void> {
    if (more !== undefined) throw tooManyArguments('reset', checks, more);
    const resolved = this.checks.resolve(checks, 'reset');
    if (resolved.length > 0) await this.store.reset(resolved);
  }

  /**
   * Returns at once what is known about the state of the store. While the store is down, this also tries it in the
   * background, at most once a second.
   */
  health(): StoreHealth {
    return this.store.health();
  }

  private report(results: CheckResult[], call: ServiceCall): Verdict {
    const verdict = toVerdict(withShares(call.checks, results));
    this.events.report(verdict, undefined);
    return this.conclude(verdict, results, call);
  }

  /** Without `settle`, the verdict as it is. A denied call has nothing to settle. */
  private conclude(verdict: Verdict, results: CheckResult[], { checks, settles }: ServiceCall): Verdict {
    if (!settles) return verdict;
    const charges = verdict.allowed ? new RequestCharges(this.store, { checks, results }, false) : undefined;
    const names = [...new Set(checks.map(({ name }) => name))];
    return new NamedCharges(names, charges, CHECKS_OF_CONSUME).withSettle(verdict);
  }

  /**
   * Lets the event loop turn from time to time. Results from memory need no turn, so a loop that calls again and again
   * until it is allowed would block the process.
   */
  private yielding(results: MaybePromise<CheckResult[]>): MaybePromise<CheckResult[]> {
    if (++this.results < RESULTS_PER_TURN) return results;
    this.results = 0;
    // a rejection without a handler during this turn would end the process
    void Promise.allSettled([results]);
    return nextTurn().then(() => results);
  }
}
