import { setTimeout as sleep } from 'node:timers/promises';
import { uniqueNamespace } from '../../support/redis.js';
import { chanceOf } from '../chance.js';
import { type Audit, audit } from './audit.js';
import { Crew } from './crew.js';
import type { LeaseTimes } from './options.js';
import { nowMs } from './reports.js';
import { Server, troubleProcesses, troubleServer } from './troubles.js';
import { Watch } from './watch.js';

/** The troubles of processes that may happen at the same time. */
const AT_ONCE = 2;
/** The processes have a healthy server before they end. */
const CALM_MS = 1_000;

export interface RunOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly times: LeaseTimes;
}

/** How a run went. */
export interface Run extends Audit {
  readonly seconds: number;
  readonly killed: number;
  readonly shortStops: number;
  readonly longStops: number;
  /** By name, how often the server or a way to it had a fault. */
  readonly troubles: Readonly<Record<string, number>>;
}

/** Lets processes take leases and settle costs during many faults, and checks what they and Redis report. */
export async function runLeases({ seconds, seed, times }: RunOptions): Promise<Run> {
  const server = await Server.start();
  const namespace = uniqueNamespace();
  const watch = new Watch(server.lone.port, namespace);
  const ports = server.ways.map(({ wire }) => wire.port);
  const crew = await Crew.start(ports, { namespace, times });
  try {
    const { lifeMs } = times;
    const plan = { chance: chanceOf(seed), lifeMs, untilMs: nowMs() + seconds * 1_000 };
    const [troubles] = await Promise.all([
      troubleServer(server, plan),
      ...Array.from({ length: AT_ONCE }, () => troubleProcesses(crew, plan)),
    ]);
    await sleep(CALM_MS);
    await crew.end();
    await sleep(lifeMs + CALM_MS);
    const members = crew.members();
    const [counters, leaseKeys, immortal] = [
      await watch.counters(),
      await watch.leaseKeys(),
      await watch.immortal(),
    ];
    const { samples } = watch;
    const evidence = { lifeMs, members, troubles, samples, counters, leaseKeys, immortal };
    const names = troubles.map(({ name }) => name);
    return {
      ...audit(evidence),
      seconds,
      killed: crew.killed,
      shortStops: crew.stops.filter((ms) => ms < lifeMs).length,
      longStops: crew.stops.filter((ms) => ms > lifeMs).length,
      troubles: Object.fromEntries(
        [...new Set(names)].map((name) => [name, names.filter((one) => one === name).length]),
      ),
    };
  } finally {
    await crew.remove();
    await watch.stop();
    await server.stop();
  }
}
