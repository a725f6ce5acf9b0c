import { leftByRefunds, type Stored } from '../kinds.js';
import type { Member } from './crew.js';
import { of } from './held.js';
import { OWN_COST, SHARED_COST } from './options.js';

/** A counter that a request charged and settled. */
interface Charge {
  readonly id: string;
  readonly kind: string;
  readonly estimate: number;
  readonly actual: number;
  readonly isCharged: boolean;
  readonly isSettled: boolean;
  readonly wasSettling: boolean;
}

export interface CostBooks {
  readonly settled: number;
  /** Charged, but not surely settled: the estimate or the actual cost counts. */
  readonly unsettled: number;
  /** Of them, those that the server has settled. */
  readonly settledWithoutAnswer: number;
  /** Counters that contain neither what their requests were charged nor what was settled. */
  readonly wrong: readonly string[];
}

/** Compares the counters of costs, by their name and value, with what the processes have reported. */
export function booksOf(members: readonly Member[], counters: ReadonlyMap<string, Counter>): CostBooks {
  const wrong: string[] = [];
  const sums = new Map<string, number>();
  let [settled, unsettled, settledWithoutAnswer] = [0, 0, 0];
  for (const charge of members.flatMap(chargesOf)) {
    const { kind, id, estimate, actual, isSettled } = charge;
    const counter = counters.get(`${OWN_COST}${kind}:${id}`);
    const units = unitsOf(charge, counter);
    if (units === undefined)
      wrong.push(`${id} (${kind}) has ${counter?.units ?? 0}, charged ${estimate}, settled ${actual}`);
    if (isSettled) settled++;
    // without a counter it is not known whether it was charged at all, or settled to 0
    else if (counter !== undefined) {
      unsettled++;
      if (units === actual) settledWithoutAnswer++;
    }
    sums.set(kind, (sums.get(kind) ?? 0) + (units ?? 0));
  }
  for (const [kind, sum] of sums) wrong.push(...wrongSum(kind, sum, counters));
  return { settled, unsettled, settledWithoutAnswer, wrong };
}

/** A counter in Redis. */
export interface Counter {
  readonly units: Stored;
  readonly key: string;
}

/** What a request has on its counter: one of those that its reports allow; `undefined` if it is another number. */
function unitsOf(charge: Charge, counter: Counter | undefined): number | undefined {
  const stored = counter?.units ?? 0;
  const more = counter === undefined ? 0 : leftByRefunds(counter.key);
  return allowed(charge).find((units) => stored === units || (more > 0 && stored === units + more));
}

function allowed({ estimate, actual, isCharged, isSettled, wasSettling }: Charge): number[] {
  if (isSettled) return [actual];
  if (wasSettling) return [estimate, actual];
  return isCharged ? [estimate] : [estimate, 0];
}

/** All requests charge their own counter and a shared one in one step, and settle both in one step. */
function wrongSum(kind: string, sum: number, counters: ReadonlyMap<string, Counter>): string[] {
  const shared = [...counters].filter(([name]) => name.startsWith(`${SHARED_COST}${kind}:`));
  const inAll = shared.reduce((total, [, { units }]) => total + Number(units), 0);
  const more = shared.reduce((total, [, { key }]) => total + leftByRefunds(key), 0);
  return inAll >= sum && inAll <= sum + more
    ? []
    : [`the shared counters (${kind}) have ${inAll} instead of ${sum}`];
}

function chargesOf({ reports }: Member): Charge[] {
  const idsOf = (what: 'charged' | 'settle' | 'settled'): Set<string> =>
    new Set(of(reports, what).map(({ id }) => id));
  const [charged, settling, settled] = [idsOf('charged'), idsOf('settle'), idsOf('settled')];
  return of(reports, 'charge').map(({ id, kind, estimate, actual }) => ({
    ...{ id, kind, estimate, actual },
    isCharged: charged.has(id),
    wasSettling: settling.has(id),
    isSettled: settled.has(id),
  }));
}
