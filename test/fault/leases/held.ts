import type { Member } from './crew.js';
import type { Report } from './reports.js';

/** A lease, as its process has reported it. */
export interface HeldLease {
  readonly id: string;
  readonly counter: string;
  readonly source: string;
  readonly fromMs: number;
  /** It surely counts until then: its work has ended, or it may lapse. */
  readonly untilMs: number;
  /** Its process has to end the work then, because the lease was not renewed any more. */
  readonly lapsesAtMs: number;
  readonly isRenewed: boolean;
  /** The end of its work; `undefined` if its process was killed or closed before. */
  readonly endedAtMs: number | undefined;
  readonly isAborted: boolean;
  readonly releasedAtMs: readonly number[];
}

type ReportOf<What> = Extract<Report, { readonly what: What }>;

/** The leases that a process was granted. */
export function leasesOf({ reports }: Pick<Member, 'reports'>, lifeMs: number): HeldLease[] {
  const takes = new Map(of(reports, 'take').map((report) => [report.lease, report]));
  const ends = new Map(of(reports, 'end').map((report) => [report.lease, report]));
  const releases = groupBy(of(reports, 'release'), ({ lease }) => lease);
  const renewals = groupBy(renewalsOf(reports), ({ lease }) => lease);
  return of(reports, 'begin').flatMap(({ lease: id, source, atMs: fromMs }) => {
    const take = takes.get(id);
    if (take === undefined) return [];
    const renewed = renewals.get(id) ?? [];
    const { surelyMs, lapsesAtMs } = livesOf(take.atMs, renewed, lifeMs);
    const end = ends.get(id);
    const releasedAtMs = (releases.get(id) ?? []).map(({ atMs }) => atMs);
    return {
      ...{ id, counter: take.counter, source, fromMs, lapsesAtMs, releasedAtMs },
      untilMs: Math.min(surelyMs, end?.atMs ?? Infinity, ...releasedAtMs),
      isRenewed: renewed.some(({ isKept }) => isKept),
      endedAtMs: end?.atMs,
      isAborted: end?.isAborted === true,
    };
  });
}

/** An answered renewal. */
interface Renewal {
  readonly lease: string;
  /** Whether the lease was there. */
  readonly isKept: boolean;
  readonly sentAtMs: number;
  readonly atMs: number;
}

function renewalsOf(reports: readonly Report[]): Renewal[] {
  const sent = new Map(of(reports, 'renew').map(({ call, atMs }) => [call, atMs]));
  return of(reports, 'renewed').flatMap(({ call, kept, again, atMs }) => {
    const sentAtMs = sent.get(call) ?? atMs;
    return [...kept, ...again].map((lease, i) => ({ lease, isKept: i < kept.length, sentAtMs, atMs }));
  });
}

/**
 * Until when a lease surely counts: an answer that comes later says nothing about the time before. And until when its process
 * can believe that: as long as renewals find it.
 */
function livesOf(takenAtMs: number, renewals: readonly Renewal[], lifeMs: number) {
  let [surelyMs, lapsesAtMs] = [takenAtMs + lifeMs, takenAtMs + lifeMs];
  for (const { isKept, sentAtMs, atMs } of renewals) {
    if (!isKept) break;
    if (atMs < surelyMs) surelyMs = sentAtMs + lifeMs;
    lapsesAtMs = sentAtMs + lifeMs;
  }
  return { surelyMs, lapsesAtMs };
}

/** The most leases of each counter at once. */
export function mostAtOnce(leases: readonly HeldLease[]): Map<string, number> {
  const most = new Map<string, number>();
  for (const [counter, own] of groupBy(leases, (lease) => lease.counter)) most.set(counter, mostOf(own));
  return most;
}

function mostOf(leases: readonly Pick<HeldLease, 'fromMs' | 'untilMs'>[]): number {
  const steps = leases
    .filter(({ fromMs, untilMs }) => fromMs < untilMs)
    .flatMap(({ fromMs, untilMs }) => [
      { atMs: fromMs, change: 1 },
      { atMs: untilMs, change: -1 },
    ]);
  // one ends before another one begins
  steps.sort((a, b) => a.atMs - b.atMs || a.change - b.change);
  let [now, most] = [0, 0];
  for (const { change } of steps) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

/** How long works went on after their lease may have lapsed, without the time in which their process was stopped. */
export function overrunsOf(leases: readonly HeldLease[], { stops }: Pick<Member, 'stops'>): number[] {
  return leases
    .filter(({ source }) => source === 'store')
    .flatMap(({ lapsesAtMs, endedAtMs }) => {
      if (endedAtMs === undefined || endedAtMs <= lapsesAtMs) return [];
      const stopped = stops.map(
        ({ fromMs, toMs }) => Math.min(toMs, endedAtMs) - Math.max(fromMs, lapsesAtMs),
      );
      return [endedAtMs - lapsesAtMs - stopped.reduce((sum, ms) => sum + Math.max(0, ms), 0)];
    });
}

/** Leases of a process whose release was not sent, or before the end of their work. */
export function wrongReleases(
  leases: readonly HeldLease[],
  { killedAtMs, closedAtMs = Infinity }: Pick<Member, 'killedAtMs' | 'closedAtMs'>,
): string[] {
  return leases
    .filter(({ source }) => source === 'store')
    .flatMap(({ id, endedAtMs = Infinity, releasedAtMs: [first] }) => {
      if (first === undefined) return killedAtMs === undefined ? [`${id} was not released`] : [];
      return first < endedAtMs && first < closedAtMs ? [`${id} was released before the end of its work`] : [];
    });
}

export function of<What extends Report['what']>(reports: readonly Report[], what: What): ReportOf<What>[] {
  return reports.filter((report): report is ReportOf<What> => report.what === what);
}

export function groupBy<Value>(
  values: readonly Value[],
  keyOf: (value: Value) => string,
): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
}
