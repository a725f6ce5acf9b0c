import type { Redis } from 'ioredis';
import { consumeMixedLua } from '../../src/store/redis/lua.generated.js';
import { capacityOf } from '../../src/core/counter-kind.js';
import type { CountedCheck } from '../../src/core/counters/counter.js';
import type { Decision } from '../../src/core/counters/decide.js';
import { unpackArray as unpack } from '../../src/store/redis/message-pack.js';

// Calls lua/consume-mixed.lua as a codec would.

export interface KeyedCheck extends CountedCheck {
  readonly key: string;
}

export type MixedRequest =
  | { readonly type: 'consume' | 'peek'; readonly checks: readonly KeyedCheck[] }
  | { readonly type: 'settle'; readonly check: KeyedCheck; readonly token: number; readonly cost: number };

/** The decisions of a request, or the error of a key that is not a counter. */
export type Answer = readonly Decision[] | string;

const KINDS = { 'fixed-window': 1, calendar: 2, 'sliding-window': 3, 'token-bucket': 4, concurrency: 5 };
const WITH_BLOCK = 10;
const NO_LIMIT = -1;
const READ_REQUESTS = -1;
const [COUNT_DENIED, SHADOW, PEEK, SETTLE] = [1, 2, 4, 8];
const MAX = Number.MAX_SAFE_INTEGER;

interface KeyUse {
  readonly check: KeyedCheck;
  cost: number;
  limit: number;
  charges: number;
  reads: number;
  mustRead: boolean;
  leases: string[];
}

function numberOf(limit: number): number {
  return limit === Infinity ? NO_LIMIT : limit;
}

export function checksOf(request: MixedRequest): readonly KeyedCheck[] {
  return request.type === 'settle' ? [request.check] : request.checks;
}

function usesOf(requests: readonly MixedRequest[], mustRead: boolean): Map<string, KeyUse> {
  const uses = new Map<string, KeyUse>();
  for (const request of requests) {
    for (const check of checksOf(request)) {
      const use = uses.get(check.key) ?? {
        check,
        cost: 0,
        limit: Infinity,
        charges: 0,
        reads: 0,
        mustRead,
        leases: [],
      };
      uses.set(check.key, use);
      const charges = request.type === 'consume' && check.cost > 0;
      use[charges ? 'charges' : 'reads']++;
      use.cost += charges ? check.cost : 0;
      use.limit = Math.min(use.limit, capacityOf(check) - (request.type === 'peek' ? check.cost : 0));
      use.mustRead ||= request.type === 'settle';
      if (check.lease !== undefined && (charges || request.type === 'settle')) use.leases.push(check.lease);
    }
  }
  return uses;
}

function runOf({
  check,
  cost,
  limit,
  charges,
  reads,
  mustRead,
  leases,
}: KeyUse): readonly (number | string)[] {
  const { kind, windowMs, block } = check;
  const isBucket = kind.type === 'token-bucket';
  const isUnclear = mustRead || (!isBucket && charges > 0 && reads > 0) || cost > MAX || limit < 0;
  const more: (number | string)[] = [];
  if (kind.type === 'calendar') more.push(kind.startsAtMs, kind.endsAtMs, kind.nextEndsAtMs);
  if (kind.type === 'token-bucket') more.push(Math.min(check.limit, MAX), numberOf(kind.burst));
  if (kind.type === 'concurrency') more.push(leases.length, ...leases);
  if (block !== undefined) more.push(block.forgiveAfterMs, block.stepsMs.length, ...block.stepsMs);
  const code = KINDS[kind.type] + (block === undefined ? 0 : WITH_BLOCK);
  const sum = isUnclear ? READ_REQUESTS : cost;
  return [code, windowMs, numberOf(Math.max(limit, 0)), sum, 1, more.length, ...more];
}

function requestText(request: MixedRequest, indexes: ReadonlyMap<string, number>): string {
  const texts = checksOf(request).map((check) => {
    const k = indexes.get(check.key) ?? 0;
    if (request.type === 'settle') return `-${k},${request.token},${check.cost},${SETTLE},${request.cost},`;
    const limit = numberOf(capacityOf(check));
    const mode = (check.countDenied ? COUNT_DENIED : 0) + (check.shadow ? SHADOW : 0);
    return `-${k},${limit},${check.cost},${request.type === 'peek' ? PEEK : mode},`;
  });
  return `${texts.join('')}0,`;
}

/** KEYS and ARGV[1]. With `mustRead`, the requests are decided one by one even if all of them pass. */
export function encode(
  requests: readonly MixedRequest[],
  mustRead = false,
): { readonly keys: string[]; readonly arg: string } {
  const uses = usesOf(requests, mustRead);
  const keys = [...uses.keys()];
  const indexes = new Map(keys.map((key, i) => [key, i + 1]));
  const text = `@${requests.map((request) => requestText(request, indexes)).join('')}`;
  return { keys, arg: JSON.stringify([text, ...[...uses.values()].flatMap(runOf)]) };
}

function usedWhileBlocked(check: KeyedCheck): number {
  const capacity = capacityOf(check);
  return capacity === Infinity ? 0 : capacity;
}

function toDecision(values: readonly (number | string)[], token: number): Decision {
  const [used = 0, resetAfterMs = 0, retry = 0] = values.map(Number);
  return {
    allowed: retry === 0,
    used,
    resetAfterMs,
    retryAfterMs: Math.abs(retry),
    isBlocked: retry < 0,
    token: token < 0 ? undefined : token,
  };
}

function readAll(
  requests: readonly MixedRequest[],
  keys: readonly string[],
  values: readonly number[],
): Answer[] {
  const ofKey = new Map(
    keys.map((key, i) => [
      key,
      { used: values[2 * i]!, reset: values[2 * i + 1]!, token: values[2 * keys.length + i]! },
    ]),
  );
  for (const request of requests) {
    if (request.type !== 'consume') continue;
    for (const check of request.checks) ofKey.get(check.key)!.used -= partsOf(check);
  }
  return requests.map((request) =>
    checksOf(request).map((check) => {
      const state = ofKey.get(check.key)!;
      const charges = request.type === 'consume' && check.cost > 0;
      if (charges) state.used += partsOf(check);
      const numbers =
        check.kind.type === 'token-bucket' ? ofBucket(check, state.used) : [state.used, state.reset];
      return toDecision([...numbers, 0], charges ? state.token : -1);
    }),
  );
}

/** The cost of a check; on a bucket in parts of 1 / window of a unit, as the script returns them. */
function partsOf({ kind, cost, windowMs }: KeyedCheck): number {
  return kind.type === 'token-bucket' ? cost * windowMs : cost;
}

function ofBucket({ windowMs, limit }: KeyedCheck, parts: number): number[] {
  return [windowMs, Math.min(limit, MAX)].map((by) => Number((BigInt(parts) + BigInt(by) - 1n) / BigInt(by)));
}

/** The answers to the requests of a call. */
export function decode(requests: readonly MixedRequest[], keys: readonly string[], reply: Buffer): Answer[] {
  const [way, ...values] = unpack(reply);
  if (way === 0) return readAll(requests, keys, values as number[]);
  const count = requests.flatMap(checksOf).length;
  expect(values).toHaveLength(4 * count);
  let at = 0;
  return requests.map((request) => {
    const from = at;
    at += checksOf(request).length;
    const error = values[3 * from];
    if (typeof error === 'string') return error;
    return checksOf(request).map((check, i) => {
      const place = from + i;
      const three = values.slice(3 * place, 3 * place + 3);
      // the script does not know the limit of a settlement
      if (request.type === 'settle' && Number(three[2]) < 0) three[0] = usedWhileBlocked(check);
      return toDecision(three, Number(values[3 * count + place]));
    });
  });
}

/** Calls the script on a server with its own clock. */
export async function callMixed(
  client: Redis,
  requests: readonly MixedRequest[],
  mustRead = false,
): Promise<Answer[]> {
  const { keys, arg } = encode(requests, mustRead);
  const reply = await client.callBuffer('eval', consumeMixedLua, keys.length, ...keys, arg);
  return decode(requests, keys, reply as Buffer);
}
