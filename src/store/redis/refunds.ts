import type { Check, CheckResult } from '../../core/check.js';
import { Deadline } from './deadline.js';
import { isMoving } from './errors.js';
import { readRefunds, type Refund, type PendingRequest } from './redis-codec.js';

/** What was charged for a result, and may be given back. */
interface Charge {
  /** The server's clock at the end of the window that was charged. */
  readonly endsAtMs: number;
  /** The end of the time that the request itself has. */
  readonly deadline: Deadline;
}

/** What refunds need of their store. */
export interface RefundHost {
  readonly timeoutMs: number;
  /** Runs the script on the server of a key, and resolves with its reply. */
  call(refunds: readonly Refund[], key: string): Promise<unknown>;
  onFailure(error: unknown): void;
}

/** Remembers what requests were charged, and gives it back. */
export class Refunds {
  private readonly charges = new WeakMap<CheckResult, Charge>();

  constructor(private readonly host: RefundHost) {}

  /** Notes which windows a request is charged in. Of a denied request only what counts in any case. */
  noteCharges(
    checks: readonly Check[],
    deadline = new Deadline(this.host.timeoutMs),
  ): NonNullable<PendingRequest['onEnds']> {
    return (endsAtMs, results) => {
      const passes = results.every(({ allowed }) => allowed);
      results.forEach((result, i) => {
        const { cost = 0, countDenied = false } = checks[i] ?? {};
        if (cost > 0 && (passes || countDenied))
          this.charges.set(result, { endsAtMs: endsAtMs[i] ?? 0, deadline });
      });
    };
  }

  /**
   * Gives back what results were charged.
   * @param isInTime whether the request still waits: then the refund has the rest of its time, else `timeoutMs`. What takes
   *   longer continues without an answer
   * @returns the results as they are afterwards
   */
  async refund(
    checks: readonly Check[],
    results: readonly CheckResult[],
    isInTime: boolean,
  ): Promise<CheckResult[]> {
    const refunds: Refund[] = [];
    let deadline: Deadline | undefined;
    results.forEach((result, i) => {
      const [check, charge] = [checks[i], this.charges.get(result)];
      if (check === undefined || charge === undefined) return;
      this.charges.delete(result);
      refunds.push({ check, result, endsAtMs: charge.endsAtMs });
      if (isInTime) deadline ??= charge.deadline;
    });
    const after = new Map<CheckResult, CheckResult>();
    try {
      deadline ??= new Deadline(this.host.timeoutMs);
      const answers = await deadline.wait(this.send(refunds));
      refunds.forEach(({ result }, i) => after.set(result, answers[i] ?? result));
    } catch (error) {
      this.host.onFailure(error);
    }
    return results.map((result) => after.get(result) ?? result);
  }

  private async send(refunds: readonly Refund[]): Promise<CheckResult[]> {
    const [first] = refunds;
    if (first === undefined) return [];
    try {
      return readRefunds(refunds, await this.host.call(refunds, first.check.key));
    } catch (error) {
      if (!isMoving(error) || refunds.length === 1) throw error;
      const single = await Promise.all(refunds.map((refund) => this.send([refund])));
      return single.flat();
    }
  }
}
