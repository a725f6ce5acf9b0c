import type { Check } from '../core/check.js';
import { conversionHint } from '../core/conversion-hint.js';
import { formatForLog, type FreqLimitError, invalidCheck } from '../core/errors.js';
import { nearestName } from '../core/nearest-name.js';
import { COUNT } from '../core/validate.js';
import type { Verdict } from '../core/verdict.js';
import type { RequestCharges } from './request-charges.js';

/** What a request was charged by one rule. */
export interface FreqLimitCharge {
  /** Units that were charged before the handler; 0 if the rule was skipped for the request. */
  readonly cost: number;
  /**
   * Settles what the request has really used: less than `cost` is refunded, more is charged, whatever the limit. A second call
   * changes nothing. If the store fails, what was charged stays, and a line is logged.
   * @param cost a whole number of at least 0
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` at once, if it is anything else
   */
  readonly settle: (cost: number) => Promise<void>;
}

/** What a request was charged by all its rules. */
export interface FreqLimitCharges {
  /** Units that each rule has charged before the handler, by the names of the rules. */
  readonly costs: Readonly<Record<string, number>>;
  /**
   * Settles several rules in one call: `settle({ input: 812, output: 90 })`. See `FreqLimitCharge`.
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` at once, for an unknown name or a wrong number; nothing is settled
   */
  readonly settle: (costs: Readonly<Record<string, number>>) => Promise<void>;
}

/** A verdict of `FreqLimitService.consume` with `{ settle: true }`. */
export interface SettleableVerdict extends Verdict {
  /**
   * Settles what was really used: less than the cost is refunded, more is charged, whatever the limit. Of several checks, write
   * the costs by name: `settle({ input: 812, output: 90 })` is one call. Each check is settled once. If nothing was charged, or
   * if the store fails, it changes nothing.
   * @param costs whole numbers of at least 0
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` at once, for an unknown name or a wrong number; nothing is settled
   */
  readonly settle: (costs: number | Readonly<Record<string, number>>) => Promise<void>;
}

/** What messages call the things that are settled, and where. */
interface Words {
  /** `rule` or `check`. */
  readonly thing: string;
  /** `ChatController.ask`. */
  readonly place: string;
}

const DONE = Promise.resolve();

/** The charges of a request by the names of its rules or checks. */
export class NamedCharges {
  /**
   * @param names all names that may be settled; one of a rule that was skipped has no check
   * @param charges `undefined` if nothing may be settled
   */
  constructor(
    private readonly names: readonly string[],
    private readonly charges: RequestCharges | undefined,
    private readonly words: () => Words,
  ) {}

  /** @param name known at start-up; a rule that does not apply to the request has no cost */
  of(name: string): FreqLimitCharge {
    return {
      cost: this.costOf(name),
      settle: (cost) => this.settleAll([[name, cost]]),
    };
  }

  all(): FreqLimitCharges {
    return {
      costs: Object.fromEntries(this.names.map((name) => [name, this.costOf(name)])),
      settle: (costs) => this.settle(costs),
    };
  }

  /** The verdict of a call without a guard, which its caller can settle. */
  withSettle(verdict: Verdict): SettleableVerdict {
    return {
      ...verdict,
      settle: (costs) => (typeof costs === 'number' ? this.settleOnly(costs) : this.settle(costs)),
    };
  }

  /** Settles all checks with these names. */
  settle(costs: Readonly<Record<string, number>>): Promise<void> {
    if (typeof costs !== 'object' || (costs as unknown) === null || Array.isArray(costs)) {
      throw this.error(`${formatForLog(costs)} is not an object; write settle({ ${this.example()}: 1 })`);
    }
    const entries = Object.entries<unknown>(costs);
    const unknown = entries.find(([name]) => !this.names.includes(name));
    if (unknown !== undefined) throw this.unknown(unknown[0]);
    return this.settleAll(entries);
  }

  /** Settles the only check. */
  private settleOnly(cost: number): Promise<void> {
    const [name, ...others] = this.names;
    if (name === undefined) return DONE;
    if (others.length === 0) return this.settleAll([[name, cost]]);
    throw this.error(
      `${cost} is one cost for ${this.names.length} checks; write settle({ ${this.example()}: ${cost} })`,
    );
  }

  private settleAll(costs: readonly (readonly [name: string, cost: unknown])[]): Promise<void> {
    const byIndex = new Map<number, number>();
    for (const [name, cost] of costs) {
      if (!COUNT.test(cost)) throw this.wrongCost(name, cost);
      for (const index of this.indexesOf(name)) byIndex.set(index, cost);
    }
    return byIndex.size === 0 || this.charges === undefined ? DONE : this.charges.settle(byIndex);
  }

  private costOf(name: string): number {
    return this.checksOf(name)[0]?.[1].cost ?? 0;
  }

  private indexesOf(name: string): number[] {
    return this.checksOf(name).map(([index]) => index);
  }

  /** A slot of a rule with `concurrency` is released when the request ends, so it has nothing to settle. */
  private checksOf(name: string): (readonly [index: number, check: Check])[] {
    const all = [...(this.charges?.charged.checks ?? []).entries()];
    return all.filter(([, check]) => check.name === name && check.kind.type !== 'concurrency');
  }

  private unknown(name: string): FreqLimitError {
    const near = nearestName(name, this.names);
    const meant = near === undefined ? '' : `; did you mean ${near}?`;
    const known = this.names.join(', ') || 'none';
    return this.error(
      `no ${this.words().thing} has the name ${formatForLog(name)}${meant}; existing names: ${known}`,
    );
  }

  private wrongCost(name: string, cost: unknown): FreqLimitError {
    const isFraction = typeof cost === 'number' && Number.isFinite(cost) && cost > 0;
    const hint = isFraction ? '; round it up with Math.ceil(…)' : conversionHint(cost, COUNT.test);
    const { thing } = this.words();
    return this.error(`${thing} "${name}": ${formatForLog(cost)} is not ${COUNT.expected}${hint}`);
  }

  private error(problem: string): FreqLimitError {
    return invalidCheck(`${this.words().place}: settle: ${problem}`);
  }

  private example(): string {
    return this.names[0] ?? 'tokens';
  }
}

/** For a request to which no rule applies, or without a guard: there is nothing to settle. */
export const NO_CHARGE: FreqLimitCharge = Object.freeze({ cost: 0, settle: () => DONE });
export const NO_CHARGES: FreqLimitCharges = Object.freeze({
  costs: Object.freeze({}),
  settle: () => DONE,
});
