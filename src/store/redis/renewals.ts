import type { Check } from '../../core/check.js';
import type { LimitedLog } from '../../core/limited-log.js';
import { groupChecks } from '../../core/split-request.js';
import { Deadline } from './deadline.js';
import { isMoving, ReplyError, toFailure } from './errors.js';
import { renewLua } from './lua.generated.js';
import { encodeRenewals, readRenewals } from './renew-codec.js';
import { Script } from './script.js';
import type { Sender } from './sender.js';
import type { ServerHealth } from './server-health.js';
import type { Servers } from './servers.js';

/** Sent whole: see `renew`. */
const RENEW = new Script(renewLua, true);
/** The maximum number of leases in one call, which blocks the server for about 0.2 ms. */
const MAX_LEASES = 256;

/** For each lease whether it was still there; `undefined` if it may not be renewed. */
type Renewed = (boolean | undefined)[];

export interface RenewalsParts {
  readonly sender: Sender;
  readonly servers: Servers;
  readonly health: ServerHealth;
  readonly log: LimitedLog;
  readonly timeoutMs: number;
}

/** Renews leases by lua/renew.lua. */
export class Renewals {
  constructor(private readonly parts: RenewalsParts) {}

  /** All calls are sent at once: a lease may be released at any time, and that must come after its renewal. */
  async renew(checks: readonly Check[]): Promise<Renewed> {
    const order = groupChecks(checks, ({ key }) => key).flatMap(({ indexes }) => indexes);
    const batches: number[][] = [];
    for (let from = 0; from < order.length; from += MAX_LEASES)
      batches.push(order.slice(from, from + MAX_LEASES));
    const calls = batches.map((indexes) => this.renewSome(indexes.flatMap((index) => checks[index] ?? [])));
    const results = (await Promise.all(calls)).flat();
    const renewed: Renewed = checks.map(() => undefined);
    order.forEach((index, i) => {
      renewed[index] = results[i];
    });
    return renewed;
  }

  private async renewSome(checks: readonly Check[]): Promise<Renewed> {
    try {
      const reply = await this.call(checks);
      if (reply === undefined) return checks.map(() => undefined);
      return readRenewals(checks, reply).map((result) => {
        if (typeof result !== 'string') return result;
        this.logFailure(new ReplyError(result));
        return undefined;
      });
    } catch (error) {
      const keys = new Set(checks.map(({ key }) => key));
      if (keys.size > 1 && isMoving(error)) return this.renewByKeys(checks, keys);
      this.logFailure(error);
      return checks.map(() => undefined);
    }
  }

  /** While a slot moves, a call can have one key only. */
  private async renewByKeys(checks: readonly Check[], keys: ReadonlySet<string>): Promise<Renewed> {
    const calls = [...keys].map((key) => this.renewSome(checks.filter((check) => check.key === key)));
    return (await Promise.all(calls)).flat();
  }

  /** Calls the script. If the server is not called at the moment, finds out whether it is back, or returns `undefined`. */
  private async call(checks: readonly Check[]): Promise<unknown> {
    const { sender, servers, health, timeoutMs } = this.parts;
    const { keys, args } = encodeRenewals(checks);
    const server = servers.of(keys[0] ?? '');
    const breaker = health.breakerOf(server);
    const isTrial = breaker.isOpen;
    if (!breaker.admits()) {
      health.logOutage();
      return undefined;
    }
    try {
      const deadline = new Deadline(timeoutMs);
      const reply = await sender.call(RENEW, { keys, args, server, requests: 1, deadline });
      if (isTrial) health.noteSuccess(breaker, true);
      return reply;
    } catch (error) {
      if (isTrial && !isMoving(error)) health.noteFailure(breaker, error);
      throw error;
    }
  }

  private logFailure(error: unknown): void {
    const { message } = toFailure(error);
    this.parts.log.error(
      'FREQ_LIMIT_RENEWAL_FAILED',
      message,
      `Slots could not be renewed. If this lasts 15 seconds, other requests may take them: ${message}`,
    );
  }
}
