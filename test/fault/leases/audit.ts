import { type CostBooks, booksOf, type Counter } from './costs.js';
import type { Member } from './crew.js';
import { groupBy, type HeldLease, leasesOf, mostAtOnce, of, overrunsOf, wrongReleases } from './held.js';
import { LIMITS, type RuleName, SHARE_OF_FALLBACK, SIZE } from './options.js';
import type { Trouble } from './troubles.js';
import type { Sample } from './watch.js';

/** For a message or a call to arrive, and for a process to run. */
const SLACK_MS = 1_000;

/** What a run has left. */
export interface Evidence {
  readonly lifeMs: number;
  readonly members: readonly Member[];
  readonly troubles: readonly Trouble[];
  /** The counters of leases, read again and again. */
  readonly samples: readonly Sample[];
  /** All other counters at the end. */
  readonly counters: ReadonlyMap<string, Counter>;
  /** The keys of leases after all had to lapse. */
  readonly leaseKeys: readonly string[];
  /** Keys without an expiry. */
  readonly immortal: readonly string[];
}

export interface Audit {
  readonly leases: number;
  readonly renewed: number;
  readonly aborted: number;
  /** The most leases at once of a counter whose limit is `LIMITS.strict`. */
  readonly most: number;
  /** The same for `LIMITS.soft`, which processes count in memory while Redis is away. */
  readonly mostSoft: number;
  readonly longestOverrunMs: number;
  /** The longest time from the end of a killed process until all its leases were free. */
  readonly longestFreeMs: number;
  readonly costs: CostBooks;
  /** Everything that must not happen. */
  readonly faults: readonly string[];
}

export function audit(evidence: Evidence): Audit {
  const { lifeMs, members, counters, leaseKeys, immortal } = evidence;
  const byMember = members.map((member) => ({ member, leases: leasesOf(member, lifeMs) }));
  const all = byMember.flatMap(({ leases }) => leases);
  const inRedis = mostAtOnce(all.filter(({ source }) => source === 'store'));
  const everywhere = mostAtOnce(all);
  const overruns = byMember.flatMap(({ member, leases }) => overrunsOf(leases, member));
  const costs = booksOf(members, counters);
  return {
    leases: all.length,
    renewed: all.filter(({ isRenewed }) => isRenewed).length,
    aborted: byMember.flatMap(({ member, leases }) => abortedOf(leases, member)).length,
    most: mostOf(inRedis, 'strict'),
    mostSoft: mostOf(everywhere, 'soft'),
    longestOverrunMs: Math.max(0, ...overruns),
    longestFreeMs: Math.max(0, ...members.map((member) => freeAfterMs(member, evidence))),
    costs,
    faults: [
      ...tooMany(inRedis, { strict: LIMITS.strict, soft: Infinity }),
      ...tooMany(everywhere, { strict: LIMITS.strict, soft: LIMITS.soft * (1 + SIZE * SHARE_OF_FALLBACK) }),
      ...byMember.flatMap(({ member, leases }) => wrongReleases(leases, member)),
      ...byMember.flatMap(({ leases }) => aboveShare(leases)),
      ...overruns.filter((ms) => ms > SLACK_MS).map((ms) => `a work went on ${ms} ms after its lease`),
      ...samplesAbove(evidence, all),
      ...members.flatMap((member) => freeLate(member, evidence)),
      ...wrongTakes(members, counters),
      ...costs.wrong,
      ...leaseKeys.map((key) => `${key} has leases at the end`),
      ...immortal.map((key) => `${key} never expires`),
      ...members.flatMap(({ reports }) => of(reports, 'error').map(({ text }) => text)),
    ],
  };
}

/** Those that may have lapsed: not those of a process that is closed, whose signals abort too. */
function abortedOf(leases: readonly HeldLease[], { closedAtMs = Infinity }: Member): HeldLease[] {
  return leases.filter(({ isAborted, endedAtMs = Infinity }) => isAborted && endedAtMs < closedAtMs);
}

const ruleOf = (counter: string): RuleName => counter.split(':')[0] as RuleName;

function mostOf(most: ReadonlyMap<string, number>, rule: RuleName): number {
  return Math.max(0, ...[...most].filter(([counter]) => ruleOf(counter) === rule).map(([, count]) => count));
}

function tooMany(most: ReadonlyMap<string, number>, limits: Readonly<Record<RuleName, number>>): string[] {
  return [...most].flatMap(([counter, count]) =>
    count > limits[ruleOf(counter)] ? [`${counter} had ${count} leases at once`] : [],
  );
}

/** Leases that a process took in memory although it had its share of the limit already. */
function aboveShare(leases: readonly HeldLease[]): string[] {
  const share = Math.max(1, Math.floor(LIMITS.soft * SHARE_OF_FALLBACK));
  return leases.flatMap(({ id, counter, source, fromMs }) => {
    if (source !== 'memory') return [];
    const own = leases.filter(
      (other) =>
        other.counter === counter && other.fromMs <= fromMs && (other.endedAtMs ?? Infinity) > fromMs,
    );
    return own.length > share ? [`${id} is one of ${own.length} leases, with a share of ${share}`] : [];
  });
}

/** Times at which Redis had more leases than the limit, or a key without an expiry. */
function samplesAbove({ members, samples, lifeMs }: Evidence, leases: readonly HeldLease[]): string[] {
  const added = addedAgain(members, leases);
  return samples.flatMap(({ counter, leases: ids, leftMs, atMs }) => {
    const counted = ids.filter((id) => (added.get(id) ?? Infinity) > atMs);
    const faults: string[] = [];
    if (leftMs === -1 || leftMs > lifeMs + SLACK_MS) faults.push(`${counter} expires in ${leftMs} ms`);
    if (counted.length > LIMITS[ruleOf(counter)])
      faults.push(`${counter} has ${counted.length} leases in Redis`);
    return faults;
  });
}

/**
 * When leases may have been added above the limit: by a renewal that did not find them, or has no answer, or of a lease that was
 * taken in memory. The work is running, so they count.
 */
function addedAgain(members: readonly Member[], leases: readonly HeldLease[]): Map<string, number> {
  const inRedis = new Set(leases.filter(({ source }) => source === 'store').map(({ id }) => id));
  const added = new Map<string, number>();
  for (const { reports } of members) {
    const kept = new Map(of(reports, 'renewed').map((answer) => [answer.call, new Set(answer.kept)]));
    for (const { call, leases: ids, atMs } of of(reports, 'renew')) {
      for (const id of ids) {
        if (!added.has(id) && !(inRedis.has(id) && kept.get(call)?.has(id) === true)) added.set(id, atMs);
      }
    }
  }
  return added;
}

/** How long Redis counted leases of a process that was killed. */
function freeAfterMs({ killedAtMs, reports }: Member, { samples }: Evidence): number {
  if (killedAtMs === undefined) return 0;
  const own = new Set(of(reports, 'take').map(({ lease }) => lease));
  const last = samples.findLast(({ leases }) => leases.some((id) => own.has(id)));
  return last === undefined ? 0 : Math.max(0, last.sentAtMs - killedAtMs);
}

/** A call of a killed process may wait in the network or the server, and is executed at the end of that trouble. */
function freeLate(member: Member, evidence: Evidence): string[] {
  const { killedAtMs = Infinity } = member;
  const waits = evidence.troubles
    .filter(({ fromMs, toMs }) => fromMs <= killedAtMs && toMs >= killedAtMs - SLACK_MS)
    .map(({ toMs }) => toMs - killedAtMs);
  const freeMs = freeAfterMs(member, evidence);
  return freeMs > evidence.lifeMs + Math.max(0, ...waits) + SLACK_MS
    ? [`${member.name} had leases for ${freeMs} ms after it was killed`]
    : [];
}

/** A lease and the charge of its request are one step: there are as many charges as leases were taken. */
function wrongTakes(members: readonly Member[], counters: ReadonlyMap<string, Counter>): string[] {
  const reports = members.flatMap((member) => member.reports);
  const begun = new Set(of(reports, 'begin').map(({ lease }) => lease));
  const denied = new Set(of(reports, 'denied').map(({ lease }) => lease));
  const strict = of(reports, 'take').filter(({ counter }) => ruleOf(counter) === 'strict');
  return [...groupBy(strict, ({ counter }) => counter)].flatMap(([counter, takes]) => {
    const charged = Number(counters.get(`taken-${counter}`)?.units ?? 0);
    const least = takes.filter(({ lease }) => begun.has(lease)).length;
    const most = takes.filter(({ lease }) => !denied.has(lease)).length;
    return charged < least || charged > most
      ? [`${counter} was charged ${charged} times, for ${least} to ${most} leases`]
      : [];
  });
}
