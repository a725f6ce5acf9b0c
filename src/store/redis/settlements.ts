import { type Check, type CheckResult, isPlain, passesAll } from '../../core/check.js';
import type { LimitedLog } from '../../core/limited-log.js';
import { NO_TOKEN, type OnTokens } from './batch.js';
import { Deadline } from './deadline.js';
import { isMoving, toFailure } from './errors.js';
import { consumeMixedLua, refundLua } from './lua.generated.js';
import { encodeMixedSettlements, readMixedSettlements } from './mixed-settle-codec.js';
import { encodeSettlements, readSettlements, type Refund } from './settle-codec.js';
import { Script } from './script.js';
import type { Sender } from './sender.js';
import type { ServerHealth } from './server-health.js';
import type { Servers } from './servers.js';

/** How refunds are sent: a script, and how its arguments and its reply are made and read. */
const PLAIN = { script: new Script(refundLua), encode: encodeSettlements, read: readSettlements };
const MIXED = {
  script: new Script(consumeMixedLua),
  encode: encodeMixedSettlements,
  read: readMixedSettlements,
};

/** What a result was charged. */
interface Charge {
  /** What the script returned for it. */
  readonly token: number;
  /** The deadline of the request. */
  readonly deadline: Deadline;
}

export interface SettlementsParts {
  readonly sender: Sender;
  readonly servers: Servers;
  readonly health: ServerHealth;
  readonly log: LimitedLog;
  readonly timeoutMs: number;
}

/** Remembers what requests were charged, and refunds it by lua/refund.lua or lua/consume-mixed.lua. */
export class Settlements {
  private readonly charges = new WeakMap<CheckResult, Charge>();

  constructor(private readonly parts: SettlementsParts) {}

  /** Notes which windows a request is charged in; if it is denied, only checks with `countDenied`. */
  noteCharges(checks: readonly Check[], deadline = new Deadline(this.parts.timeoutMs)): OnTokens {
    return (tokens, results) => {
      const passes = passesAll(checks, results);
      results.forEach((result, i) => {
        const { cost = 0, countDenied = false } = checks[i] ?? {};
        if (cost > 0 && (passes || countDenied))
          this.charges.set(result, { token: tokens[i] ?? NO_TOKEN, deadline });
      });
    };
  }

  /**
   * Refunds what results were charged, each once.
   * @param isInTime whether the request still waits: then the refund has the rest of its time, else `timeoutMs`. What takes
   *   longer continues in the background
   * @returns the results as they are afterwards; unchanged where the refund has failed
   */
  async settle(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
    isInTime: boolean,
  ): Promise<CheckResult[]> {
    const { refunds, deadline } = this.takeCharges(checks, results, costs);
    const refunded = new Map<CheckResult, CheckResult>();
    try {
      const limit = (isInTime ? deadline : undefined) ?? new Deadline(this.parts.timeoutMs);
      const answers = await limit.wait(this.send(refunds));
      refunds.forEach(({ result }, i) => refunded.set(result, answers[i] ?? result));
    } catch (error) {
      const { message } = toFailure(error);
      this.parts.log.error(
        'FREQ_LIMIT_REFUND_FAILED',
        message,
        `Refund failed; the request stays counted: ${message}`,
      );
    }
    return results.map((result) => refunded.get(result) ?? result);
  }

  /** What these results were charged, and the deadline of their request. They cannot be refunded again. */
  private takeCharges(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
  ): { readonly refunds: Refund[]; readonly deadline: Deadline | undefined } {
    const refunds: Refund[] = [];
    let deadline: Deadline | undefined;
    results.forEach((result, i) => {
      const [check, charge] = [checks[i], this.charges.get(result)];
      if (check === undefined || charge === undefined || costs[i] !== 0) return;
      this.charges.delete(result);
      if (charge.token > NO_TOKEN) refunds.push({ check, result, token: charge.token });
      deadline ??= charge.deadline;
    });
    return { refunds, deadline };
  }

  private async send(refunds: readonly Refund[]): Promise<CheckResult[]> {
    const [first] = refunds;
    if (first === undefined) return [];
    const way = refunds.every(({ check }) => isPlain(check)) ? PLAIN : MIXED;
    try {
      return way.read(refunds, await this.call(way, refunds, first.check.key));
    } catch (error) {
      if (refunds.length === 1 || !isMoving(error)) throw error;
      const single = await Promise.all(refunds.map((refund) => this.send([refund])));
      return single.flat();
    }
  }

  private async call(way: typeof PLAIN, refunds: readonly Refund[], key: string): Promise<unknown> {
    const { sender, servers, health, timeoutMs } = this.parts;
    const server = servers.of(key);
    if (health.breakerOf(server).isOpen) throw health.toError();
    const deadline = new Deadline(timeoutMs);
    return sender.call(way.script, { ...way.encode(refunds), server, requests: 1, deadline });
  }
}
