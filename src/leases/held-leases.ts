import { clearTimeout, setTimeout } from 'node:timers';
import type { Check, CheckResult } from '../core/check.js';

// captured here, because a test may replace timers later
const startTimeout = setTimeout;
const stopTimeout = clearTimeout;

/** Leases that one request or one piece of work holds until the same moment. */
export interface Leases {
  /** Says that their end will be known, if they were held without this. */
  claim(): void;
  /** Releases them. Only the first call does something. */
  release(): void;
}

export interface HoldOptions {
  /** When the call that took them was made, by the keeper's clock. */
  readonly takenAtMs: number;
  /**
   * Whether it is certain that they will be released. Unclaimed ones are given up after a period: a later guard has
   * denied the message, or an interceptor has answered it.
   */
  readonly isClaimed: boolean;
  /** Called once, with the reason, if they may have lapsed. */
  readonly onLapsed?: ((reason: LapseReason) => void) | undefined;
}

/** Why work no longer has its slot: the slot could not be renewed in time, or the application shuts down. */
export type LapseReason = 'lapsed' | 'shutdown';

interface Parts extends HoldOptions {
  readonly checks: readonly Check[];
  readonly results: readonly CheckResult[];
  readonly lifeMs: number;
}

type State = 'held' | 'unclaimed' | 'given up' | 'released';

/** Leases in the hands of a `LeaseKeeper`. */
export class HeldLeases implements Leases {
  readonly checks: readonly Check[];
  readonly results: readonly CheckResult[];
  private state: State;
  /** Up to when they count for certain. */
  private safeUntilMs: number;
  private watch: NodeJS.Timeout | undefined;
  private onLapsed: HoldOptions['onLapsed'];

  /** @param onChange called when they are released or given up, and with `true` when they are claimed after that */
  constructor(
    private readonly parts: Parts,
    private readonly clock: () => number,
    private readonly onChange: (leases: HeldLeases, isClaimed: boolean) => void,
  ) {
    this.checks = parts.checks;
    this.results = parts.results;
    this.onLapsed = parts.onLapsed;
    this.state = parts.isClaimed ? 'held' : 'unclaimed';
    this.safeUntilMs = parts.takenAtMs + parts.lifeMs;
  }

  claim(): void {
    const { state } = this;
    if (state === 'released') return;
    this.state = 'held';
    if (state === 'given up') this.onChange(this, true);
  }

  release(): void {
    const { state } = this;
    if (state === 'released') return;
    this.forget();
    if (state !== 'given up') this.onChange(this, false);
  }

  /** Gives them up if they are unclaimed for this time. */
  giveUpIfUnclaimed(afterMs: number): void {
    if (this.state !== 'unclaimed' || this.clock() - this.parts.takenAtMs < afterMs) return;
    this.state = 'given up';
    this.onChange(this, false);
  }

  /** Notes that the keeper does not hold them any more. */
  forget(isShutdown = false): void {
    this.state = 'released';
    stopTimeout(this.watch);
    if (isShutdown) this.lapse('shutdown');
    this.onLapsed = undefined;
  }

  /**
   * Notes the answers of a renewal: whether each was still there, or `undefined` if it may not be renewed.
   * @param sentAtMs when it was sent
   */
  noteRenewal(answers: readonly (boolean | undefined)[], sentAtMs: number): void {
    if (answers.includes(false)) this.lapse('lapsed');
    if (answers.includes(undefined)) return;
    this.safeUntilMs = sentAtMs + this.parts.lifeMs;
    stopTimeout(this.watch);
    this.watch = undefined;
  }

  /** From now on they lapse in time, unless a renewal succeeds: it may have no answer for longer than they live. */
  watchEnd(): void {
    if (this.onLapsed === undefined || this.watch !== undefined) return;
    const leftMs = Math.max(0, this.safeUntilMs - this.clock());
    this.watch = startTimeout(() => {
      this.lapse('lapsed');
    }, leftMs).unref();
  }

  private lapse(reason: LapseReason): void {
    const { onLapsed } = this;
    this.onLapsed = undefined;
    onLapsed?.(reason);
  }
}
