import { type Check, type CheckResult, isPlain, needsSettling, passesAll } from '../../core/check.js';
import type { LimitedLog } from '../../core/limited-log.js';
import { settlementFailure } from '../../core/settlement-failure.js';
import { groupChecks, inOriginalOrder } from '../../core/split-request.js';
import { NO_TOKEN, type OnTokens } from './batch.js';
import { Deadline } from './deadline.js';
import { isFull, isMoving, toFailure } from './errors.js';
import { prefixWithTag } from './hash-tags.js';
import { consumeMixedLua, settleLua } from './lua.generated.js';
import { encodeMixedSettlements, readMixedSettlements } from './mixed-settle-codec.js';
import { isOldServer, Script, whenFull } from './script.js';
import type { Sender } from './sender.js';
import type { ServerHealth } from './server-health.js';
import type { Servers } from './servers.js';
import { encodeSettlements, readSettlements, type SettledCharge } from './settle-codec.js';
import { SettleCoalescer } from './settle-coalescer.js';

/**
 * How charges are settled: a script, and how its arguments and its reply are made and read. For a full server there is a second
 * one: settlements create no counters, and a debt must be charged as long as requests are.
 */
const PLAIN = { ...scriptsOf(settleLua), encode: encodeSettlements, read: readSettlements };
const MIXED = { ...scriptsOf(consumeMixedLua), encode: encodeMixedSettlements, read: readMixedSettlements };

function scriptsOf(source: string): { readonly script: Script; readonly whenFull: Script } {
  return { script: new Script(source), whenFull: whenFull(source) };
}

/** What a result was charged. */
interface Charge {
  /** What the script returned for it. */
  readonly token: number;
  /** The deadline of the request. */
  readonly deadline: Deadline | undefined;
}

/** The charges of a request that are to be settled. */
interface TakenCharges {
  readonly charges: SettledCharge[];
  readonly deadline: Deadline | undefined;
}

export interface SettlementsParts {
  readonly sender: Sender;
  readonly servers: Servers;
  readonly health: ServerHealth;
  readonly log: LimitedLog;
  readonly timeoutMs: number;
  /** Whether the settlements of several requests may share a call. */
  readonly coalesce: boolean;
}

/** Remembers what requests were charged, and settles it by lua/settle.lua or lua/consume-mixed.lua. */
export class Settlements {
  private readonly charges = new WeakMap<CheckResult, Charge>();
  private readonly coalescer: SettleCoalescer;

  constructor(private readonly parts: SettlementsParts) {
    this.coalescer = new SettleCoalescer((charges) => this.send(charges), parts.coalesce);
  }

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
   * Settles what results were charged, each once.
   * @param isInTime whether the request still waits: then the settlement has the rest of its time, else `timeoutMs`. What takes
   *   longer continues in the background
   * @returns the results as they are afterwards; unchanged where the settlement has failed
   */
  async settle(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
    isInTime: boolean,
  ): Promise<CheckResult[]> {
    const { charges, deadline } = this.takeCharges(checks, results, costs);
    const [first] = charges;
    // a lease that cannot be released lapses
    if (first === undefined || (charges.every(isLease) && this.isDown(first))) return [...results];
    const settled = new Map<CheckResult, CheckResult>();
    try {
      const limit = (isInTime ? deadline : undefined) ?? new Deadline(this.parts.timeoutMs);
      const tag = this.parts.servers.isCluster ? prefixWithTag(first.check.key) : '';
      const answers = await limit.wait(this.coalescer.add(tag, charges));
      charges.forEach(({ result }, i) => settled.set(result, answers[i] ?? result));
    } catch (error) {
      const { message } = toFailure(error);
      const failed = whatFailed(charges);
      this.parts.log.error('FREQ_LIMIT_REFUND_FAILED', `${failed}: ${message}`, `${failed}: ${message}`);
    }
    return results.map((result) => settled.get(result) ?? result);
  }

  /** Sends what has been collected. */
  flush(): void {
    this.coalescer.flush();
  }

  /** What these results were charged, unless it was the real cost. They cannot be settled again. */
  private takeCharges(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
  ): TakenCharges {
    const charges: SettledCharge[] = [];
    let deadline: Deadline | undefined;
    results.forEach((result, i) => {
      const [check, cost] = [checks[i], costs[i]];
      if (check === undefined || cost === undefined) return;
      const charge = this.chargeOf(check, result);
      if (charge === undefined) return;
      this.charges.delete(result);
      deadline ??= charge.deadline;
      const { token } = charge;
      if (token > NO_TOKEN && needsSettling(check, cost)) charges.push({ check, result, token, cost });
    });
    return { charges, deadline };
  }

  /** A lease is released by its id, also if it is not known here that it was taken. */
  private chargeOf({ lease }: Check, result: CheckResult): Charge | undefined {
    const charge = this.charges.get(result);
    return lease === undefined ? charge : { token: 0, deadline: charge?.deadline };
  }

  private async send(charges: readonly SettledCharge[]): Promise<CheckResult[]> {
    const way = charges.every(({ check }) => isPlain(check)) ? PLAIN : MIXED;
    try {
      return way.read(charges, await this.call(way, charges));
    } catch (error) {
      if (!isMoving(error)) throw error;
      return this.sendByKeys(charges, error);
    }
  }

  /** While a slot moves, a call can have one key only. Nothing of the call that failed was run. */
  private async sendByKeys(charges: readonly SettledCharge[], error: unknown): Promise<CheckResult[]> {
    const groups = groupChecks(
      charges.map(({ check }) => check),
      ({ key }) => key,
    );
    if (groups.length === 1) throw error;
    const settled = groups.map(({ indexes }) => this.send(charges.filter((_, i) => indexes.includes(i))));
    return inOriginalOrder(groups, await Promise.all(settled));
  }

  /** Whether the server of a counter is not called at the moment. */
  private isDown({ check }: SettledCharge): boolean {
    const { servers, health } = this.parts;
    return health.breakerOf(servers.of(check.key)).isOpen;
  }

  private async call(way: typeof PLAIN, charges: readonly SettledCharge[]): Promise<unknown> {
    const { sender, servers, health, timeoutMs } = this.parts;
    const [first] = charges;
    if (first === undefined) return undefined;
    if (this.isDown(first)) throw health.toError();
    const server = servers.of(first.check.key);
    const call = { ...way.encode(charges), server, requests: 1, deadline: new Deadline(timeoutMs) };
    try {
      return await sender.call(way.script, call);
    } catch (error) {
      // a full server refused the first write, so nothing is settled
      if (!isFull(error)) throw error;
      return sender.call(way.whenFull, call).catch((second: unknown) => {
        throw isOldServer(second) ? error : second;
      });
    }
  }
}

function whatFailed(charges: readonly SettledCharge[]): string {
  return charges.every(isLease)
    ? 'Release failed; the slot is free within 15 seconds'
    : settlementFailure(charges);
}

function isLease({ check }: SettledCharge): boolean {
  return check.kind.type === 'concurrency';
}
