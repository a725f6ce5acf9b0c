import { type Check, type CheckResult, toResult } from '../../core/check.js';

// The only place that knows the positions of the arguments and replies of lua/*.lua.

const NO_LIMIT = '-1';
const TOO_LARGE = '-1';
const ALL_PASS = 0;
const EACH = 1;

/**
 * The maximum number of counters in one call. If all requests pass, 64 block the server for 0.05 to 0.11 ms, and several
 * calls are in flight under load.
 */
const MAX_KEYS = 64;
/**
 * The maximum number of checks in one call, for any number of counters: if one of them denies, the script handles all of
 * them, in 0.6 µs each. The longest such call blocks the server for about 0.3 ms. A single request with more is still one call.
 */
const MAX_CHECKS = 256;

/** One request on its way: its checks, and who waits for its answer. */
export interface PendingRequest {
  readonly checks: readonly Check[];
  /** Whether its visits are charged; else they are only looked at. */
  readonly charging: boolean;
  /** Told, where it is wanted, when the window of each result ends, by the server's clock in milliseconds. */
  readonly onEnds: ((endsAtMs: readonly number[], results: readonly CheckResult[]) => void) | undefined;
  resolve(results: CheckResult[]): void;
  reject(error: unknown): void;
}

/** A counter of a call: what all checks on it come to. */
interface CounterEntry {
  readonly key: string;
  readonly windowMs: number;
  limit: number;
  cost: number;
  /** Its place among KEYS, from 1; known when the call is encoded. */
  place: number;
  /** Units used before the check that is read next. */
  used: number;
  left: number;
}

/** A check with the counter it goes to. */
interface Placed {
  readonly check: Check;
  readonly slot: CounterEntry;
}

/** The requests that go out in one call of the script. */
export class Batch {
  private readonly slots = new Map<string, CounterEntry>();
  private readonly members: { readonly request: PendingRequest; readonly placed: readonly Placed[] }[] = [];
  private checks = 0;
  private cost = 0;
  private wantsEnds = false;
  /** Whether it changes any counter. */
  isCharging = false;
  /** How many counters its call has created. Set when the answer is read. */
  opened = 0;

  get requests(): readonly PendingRequest[] {
    return this.members.map(({ request }) => request);
  }

  /** The number of its requests. */
  get size(): number {
    return this.members.length;
  }

  /** Whether it goes to several counters, and so could go in several calls. */
  get isDivisible(): boolean {
    return this.slots.size > 1;
  }

  /** The key of one of its counters. */
  get someKey(): string {
    for (const key of this.slots.keys()) return key;
    return '';
  }

  /** Whether a request may share this call; the first one always may. */
  fits(checks: readonly Check[]): boolean {
    return (
      this.checks === 0 ||
      (this.slots.size + checks.length <= MAX_KEYS &&
        this.checks + checks.length <= MAX_CHECKS &&
        this.cost + costOf(checks) <= Number.MAX_SAFE_INTEGER)
    );
  }

  add(request: PendingRequest): void {
    const { checks, charging } = request;
    const placed = checks.map((check) => ({ check, slot: this.slotOf(check, charging) }));
    this.members.push({ request, placed });
    this.wantsEnds ||= request.onEnds !== undefined;
    this.checks += checks.length;
    this.cost += costOf(checks);
  }

  private slotOf({ key, windowMs, limit, cost }: Check, charging: boolean): CounterEntry {
    const charge = charging ? cost : 0;
    this.isCharging ||= charge > 0;
    // a look never denies: what it would come to is worked out from its counter
    const bound = charging ? limit : Infinity;
    let slot = this.slots.get(key);
    if (slot === undefined) {
      slot = { key, windowMs, limit: bound, cost: charge, place: 0, used: 0, left: 0 };
      this.slots.set(key, slot);
      return slot;
    }
    slot.cost += charge;
    if (bound < slot.limit) slot.limit = bound;
    return slot;
  }

  /** KEYS and ARGV of the call. */
  encode(): { readonly keys: string[]; readonly args: string[] } {
    const keys: string[] = [];
    const args = [''];
    for (const run of this.runs()) {
      const [{ windowMs, limit, cost }] = run;
      args.push(String(windowMs), boundText(limit), costText(cost), String(run.length));
      for (const slot of run) slot.place = keys.push(slot.key);
    }
    args[0] = this.describeRequests();
    return { keys, args };
  }

  /** The counters in runs of one window, limit and cost. */
  private runs(): [CounterEntry, ...CounterEntry[]][] {
    const runs: [CounterEntry, ...CounterEntry[]][] = [];
    for (const slot of this.slots.values()) {
      const run = runs.find(([first]) => isAlike(first, slot));
      if (run === undefined) runs.push([slot]);
      else run.push(slot);
    }
    return runs;
  }

  private describeRequests(): string {
    let text = this.wantsEnds ? '@' : '';
    for (const { request, placed } of this.members) {
      for (const { check, slot } of placed) text += describe(check, slot.place, request.charging);
      text += '0,';
    }
    return text;
  }

  /** Hands out the reply of the call; `toError` makes the error of a request whose key holds no counter. */
  answer(reply: unknown, toError: (error: Error) => Error): void {
    if (!Array.isArray(reply)) throw notOurs();
    const [kind, ...values] = reply as readonly unknown[];
    const ends = this.wantsEnds ? values.splice(-this.slots.size).map(integer) : [];
    if (Number(kind) === ALL_PASS) this.answerAll(values, ends);
    else if (Number(kind) === EACH) this.answerEach(values, ends, toError);
    else throw notOurs();
  }

  fail(error: unknown): void {
    for (const { request } of this.members) request.reject(error);
  }

  /** All pass: from what a counter holds after all, what each check found is worked out in the order they came. */
  private answerAll(values: readonly unknown[], ends: readonly number[]): void {
    if (values.length !== 2 * this.slots.size) throw notOurs();
    for (const slot of this.slots.values()) {
      slot.used = integer(values[2 * slot.place - 2]) - slot.cost;
      if (slot.used === 0 && slot.cost > 0) this.opened++;
      slot.left = integer(values[2 * slot.place - 1]);
    }
    for (const { request, placed } of this.members) {
      const results = placed.map(({ check, slot }) => readNext(check, slot, request.charging));
      resolve(request, placed, results, ends);
    }
  }

  /** Some request does not pass: the reply has each check's own numbers. */
  private answerEach(
    values: readonly unknown[],
    ends: readonly number[],
    toError: (error: Error) => Error,
  ): void {
    if (values.length !== 2 * this.checks) throw notOurs();
    let at = 0;
    for (const { request, placed } of this.members) {
      const { checks, charging } = request;
      const from = at;
      at += 2 * checks.length;
      const error = values[from];
      if (typeof error === 'string' && !isInteger(error)) {
        request.reject(toError(new Error(error)));
        continue;
      }
      const results = checks.map((check, i) =>
        readOne(check, charging, values[from + 2 * i], values[from + 2 * i + 1]),
      );
      if (charging) this.countOpened(checks, results);
      resolve(request, placed, results, ends);
    }
  }

  /** A counter that holds what the check has just charged, and no more, is new. */
  private countOpened(checks: readonly Check[], results: readonly CheckResult[]): void {
    const passes = results.every(({ allowed }) => allowed);
    results.forEach(({ used, cost }, i) => {
      const charged = passes || checks[i]?.countDenied === true;
      if (charged && cost > 0 && used === cost) this.opened++;
    });
  }
}

function resolve(
  request: PendingRequest,
  placed: readonly Placed[],
  results: CheckResult[],
  ends: readonly number[],
): void {
  request.onEnds?.(
    placed.map(({ slot }) => ends[slot.place - 1] ?? 0),
    results,
  );
  request.resolve(results);
}

/** What is given back to one counter. */
export interface Refund {
  readonly check: Check;
  /** What `consume` answered. */
  readonly result: CheckResult;
  /** The server's clock, in milliseconds, at the end of the window that was charged. */
  readonly endsAtMs: number;
}

/** KEYS and ARGV of lua/refund.lua. */
export function encodeRefunds(refunds: readonly Refund[]): {
  readonly keys: string[];
  readonly args: string[];
} {
  return {
    keys: refunds.map(({ check }) => check.key),
    args: refunds.flatMap(({ check, endsAtMs }) => [
      String(check.windowMs),
      String(endsAtMs),
      String(check.cost),
    ]),
  };
}

/** The answers as they are after giving back. */
export function readRefunds(refunds: readonly Refund[], reply: unknown): CheckResult[] {
  if (!Array.isArray(reply) || reply.length !== 2 * refunds.length) throw notOurs();
  const values = reply as readonly unknown[];
  return refunds.map(({ check, result }, i) =>
    toResult(check, result.allowed, integer(values[2 * i]), integer(values[2 * i + 1])),
  );
}

/** A check as the script reads it when not all requests pass. */
function describe({ limit, cost, countDenied }: Check, place: number, charging: boolean): string {
  return charging
    ? `${countDenied ? '-' : ''}${place},${boundText(limit)},${cost},`
    : `${place},${NO_LIMIT},0,`;
}

function boundText(limit: number): string {
  return limit === Infinity ? NO_LIMIT : String(limit);
}

function costText(cost: number): string {
  return cost <= Number.MAX_SAFE_INTEGER ? String(cost) : TOO_LARGE;
}

/** The counter as the next check on it found it. */
function readNext(check: Check, slot: CounterEntry, charging: boolean): CheckResult {
  if (charging) slot.used += check.cost;
  const { used } = slot;
  return toResult(check, charging || used + check.cost <= check.limit, used, used === 0 ? 0 : slot.left);
}

function readOne(check: Check, charging: boolean, usedThen: unknown, signedLeft: unknown): CheckResult {
  const used = integer(usedThen);
  const left = integer(signedLeft);
  if (left < 0) return toResult(check, false, used, -left - 1);
  return toResult(check, charging || used + check.cost <= check.limit, used, left);
}

function costOf(checks: readonly Check[]): number {
  let sum = 0;
  for (const { cost } of checks) sum += cost;
  return sum;
}

function isAlike(a: CounterEntry, b: CounterEntry): boolean {
  return a.windowMs === b.windowMs && a.limit === b.limit && a.cost === b.cost;
}

/** Large numbers come as texts, and from a client with `stringNumbers` all of them. */
function integer(value: unknown): number {
  const number = typeof value === 'string' && isInteger(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) throw notOurs();
  return number;
}

function isInteger(text: string): boolean {
  return /^-?\d+$/.test(text);
}

function notOurs(): TypeError {
  return new TypeError('Redis answered what the script never does; is another script running in its place?');
}
