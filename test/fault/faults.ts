import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/server.js';
import type { RedisOption } from 'nestjs-freq-limit';
import type { Load } from './load.js';
import { LoneServer, type Scene, WatchedPair } from './scene.js';

/** A fault of a store, and its allowed effects. */
export interface Fault<S extends Scene = Scene> {
  readonly name: string;
  readonly topology: 'standalone' | 'Sentinel';
  readonly start: () => Promise<S>;
  /** How the store reaches the scene, if not by the scene's own options. */
  readonly reach?: (scene: S) => RedisOption;
  /** It exists before the store is created. */
  readonly comesFirst?: boolean;
  /** There is no load if it comes first. */
  readonly make: (scene: S, load?: Load) => unknown;
  readonly lastsMs: number;
  /** The number of clients of each policy, if not the usual one. */
  readonly clientsEach?: number;
  readonly end: (scene: S) => unknown;
  readonly expected: Expected;
}

export interface Expected {
  /** Whether the policy answers no request, or some. */
  readonly withoutStore: 'none' | 'some' | 'any';
  /** Redis itself loses acknowledged writes. */
  readonly mayLose?: boolean;
  /** How often the breaker opens and closes. */
  readonly outages: number;
  /** ioredis may connect once more when the sentinels' message comes after it has found the new primary. */
  readonly mayMoveTwice?: boolean;
  /** Other log lines. */
  readonly otherLines?: number;
  /** No request may be charged after it was answered. */
  readonly neverLate?: boolean;
  readonly withinS?: number;
  /** The seconds to normal are counted from here. */
  readonly from?: 'making' | 'end';
}

// Since Redis 7.2 its time stops while a script runs, so the script uses the clock of the process.
const BUSY = (ms: number): string => `
local hasClock, clock = pcall(function() return os.clock end)
local function now()
  if hasClock then return clock() * 1000 end
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end
local untilMs = now() + ${ms}
while now() < untilMs do end`;
// The name that all versions know.
const ANSWERS_BUSY_AFTER = '--lua-time-limit';

const OUTAGE: Expected = { withoutStore: 'some', outages: 1, withinS: 2 };
const INVISIBLE: Expected = { withoutStore: 'none', outages: 0, neverLate: true, withinS: 0.3 };
const FAILOVER: Expected = {
  withoutStore: 'some',
  outages: 1,
  mayMoveTwice: true,
  mayLose: true,
  from: 'making',
  withinS: 5,
};
const KEEPS_ALL = ['--appendonly', 'yes', '--appendfsync', 'always'];

const nothing = (): void => undefined;

function lone(
  fault: Omit<Fault<LoneServer>, 'topology' | 'start'> & { readonly args?: readonly string[] },
): Fault<LoneServer> {
  return { topology: 'standalone', start: () => LoneServer.start(fault.args), ...fault };
}

function watched(fault: Omit<Fault<WatchedPair>, 'topology' | 'start' | 'lastsMs'>): Fault<WatchedPair> {
  return { topology: 'Sentinel', start: () => WatchedPair.start(), lastsMs: 0, ...fault };
}

const WAY: readonly Fault<LoneServer>[] = [
  lone({
    name: 'no server at start-up, one later',
    reach: ({ direct }) => direct,
    comesFirst: true,
    make: (scene) => scene.kill(),
    lastsMs: 1_500,
    end: (scene) => scene.restart(),
    expected: { ...OUTAGE, neverLate: true },
  }),
  lone({
    name: 'five replies lost',
    make: async ({ proxy }) => {
      for (let i = 0; i < 5; i++) {
        proxy.loseNextReply();
        await sleep(300);
      }
    },
    lastsMs: 0,
    end: nothing,
    expected: { ...OUTAGE, outages: 5 },
  }),
  lone({
    name: 'three calls and three replies cut in half',
    make: async ({ wire }) => {
      for (const side of ['question', 'answer', 'question', 'answer', 'question', 'answer'] as const) {
        wire.cutNext(side);
        await sleep(300);
      }
    },
    lastsMs: 0,
    end: nothing,
    expected: { ...OUTAGE, outages: 6 },
  }),
  lone({
    name: 'connection reset',
    make: ({ proxy }) => proxy.reset(),
    lastsMs: 0,
    end: nothing,
    // it may come between two calls, and then has no effect
    expected: { ...OUTAGE, withoutStore: 'any' },
  }),
  lone({
    name: 'replies delayed by 50 ms',
    make: ({ wire }) => void (wire.delayMs = 50),
    lastsMs: 1_500,
    end: ({ wire }) => void (wire.delayMs = 0),
    expected: INVISIBLE,
  }),
  lone({
    name: 'replies delayed by 400 ms',
    make: ({ wire }) => void (wire.delayMs = 400),
    lastsMs: 2_000,
    end: ({ wire }) => void (wire.delayMs = 0),
    expected: OUTAGE,
  }),
  lone({
    name: 'packets dropped for 3 s',
    make: ({ proxy }) => void (proxy.isDropping = true),
    lastsMs: 3_000,
    end: ({ proxy }) => void (proxy.isDropping = false),
    expected: OUTAGE,
  }),
  lone({
    name: 'packets held back for 2 s',
    make: ({ wire }) => wire.pause(),
    lastsMs: 2_000,
    end: ({ wire }) => wire.release(),
    expected: OUTAGE,
  }),
];

const SERVER: readonly Fault<LoneServer>[] = [
  lone({
    name: 'killed and restarted with its append-only file',
    args: KEEPS_ALL,
    reach: ({ direct }) => direct,
    make: (scene) => scene.kill(),
    lastsMs: 1_000,
    end: (scene) => scene.restart(),
    expected: OUTAGE,
  }),
  lone({
    name: 'killed, slow to read its append-only file',
    args: [...KEEPS_ALL, '--key-load-delay', '300', '--loading-process-events-interval-bytes', '1024'],
    reach: ({ direct }) => direct,
    make: (scene) => scene.kill(),
    lastsMs: 0,
    end: (scene) => scene.restart(),
    expected: OUTAGE,
  }),
  lone({
    name: 'killed and restarted without data',
    reach: ({ direct }) => direct,
    make: (scene) => scene.kill(),
    lastsMs: 1_000,
    end: (scene) => scene.restart(),
    expected: { ...OUTAGE, mayLose: true },
  }),
  lone({
    name: 'hung for 2 s',
    reach: ({ direct }) => direct,
    make: (scene) => scene.signal('SIGSTOP'),
    lastsMs: 2_000,
    end: (scene) => scene.signal('SIGCONT'),
    expected: OUTAGE,
  }),
  lone({
    name: 'hung at start-up',
    reach: ({ direct }) => direct,
    comesFirst: true,
    make: (scene) => scene.signal('SIGSTOP'),
    lastsMs: 2_000,
    end: (scene) => scene.signal('SIGCONT'),
    expected: { ...OUTAGE, neverLate: true },
  }),
  lone({
    name: 'scripts flushed every 20 ms',
    make: async (scene) => {
      for (let i = 0; i < 75; i++) {
        await scene.command('SCRIPT', 'FLUSH');
        await sleep(20);
      }
    },
    lastsMs: 0,
    end: nothing,
    expected: INVISIBLE,
  }),
  lone({
    name: 'all counters deleted',
    make: (scene) => void scene.command('FLUSHALL'),
    lastsMs: 500,
    end: nothing,
    expected: { ...INVISIBLE, mayLose: true },
  }),
  lone({
    name: "another client's script runs for 1.5 s",
    args: [ANSWERS_BUSY_AFTER, '60000'],
    make: (scene) => scene.run(BUSY(1_500)),
    lastsMs: 0,
    end: (scene) => scene.hasRun(),
    expected: OUTAGE,
  }),
  lone({
    name: 'the same, with BUSY replies',
    args: [ANSWERS_BUSY_AFTER, '50'],
    make: (scene) => scene.run(BUSY(1_500)),
    lastsMs: 0,
    end: (scene) => scene.hasRun(),
    expected: OUTAGE,
  }),
  lone({
    name: 'memory full',
    make: async (scene) => {
      await scene.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      await scene.command('CONFIG', 'SET', 'maxmemory', '100kb');
    },
    lastsMs: 1_500,
    end: (scene) => scene.command('CONFIG', 'SET', 'maxmemory', '0'),
    expected: { ...INVISIBLE, otherLines: 1 },
  }),
  lone({
    name: 'demoted to a replica',
    make: async (scene) => scene.command('REPLICAOF', '127.0.0.1', await freePort()),
    lastsMs: 1_500,
    end: (scene) => scene.command('REPLICAOF', 'NO', 'ONE'),
    expected: { ...OUTAGE, neverLate: true },
  }),
  lone({
    name: 'demoted to a replica that serves no stale data',
    args: ['--replica-serve-stale-data', 'no'],
    make: async (scene) => scene.command('REPLICAOF', '127.0.0.1', await freePort()),
    lastsMs: 1_500,
    end: (scene) => scene.command('REPLICAOF', 'NO', 'ONE'),
    expected: { ...OUTAGE, neverLate: true },
  }),
  lone({
    name: 'permission revoked',
    args: ['--user', 'limiter', 'on', '>secret', '~*', '+@all'],
    reach: ({ redis }) => ({ ...redis, username: 'limiter', password: 'secret' }),
    make: (scene) => scene.command('ACL', 'SETUSER', 'limiter', '-eval', '-evalsha'),
    lastsMs: 1_500,
    end: (scene) => scene.command('ACL', 'SETUSER', 'limiter', '+eval', '+evalsha'),
    expected: { ...OUTAGE, neverLate: true },
  }),
];

const PAIR: readonly Fault<WatchedPair>[] = [
  watched({
    name: 'primary killed',
    make: (scene) => scene.killPrimary(),
    end: (scene) => scene.hasChanged(),
    expected: FAILOVER,
  }),
  watched({
    name: 'primary hangs permanently',
    make: (scene) => scene.hangPrimary(),
    end: (scene) => scene.hasChanged(),
    expected: FAILOVER,
  }),
  watched({
    name: 'planned failover',
    make: (scene) => scene.failOver(),
    // the old primary answers for some more seconds, and these counts are lost
    end: (scene) => scene.hasChanged(),
    // requests wait for the new primary, except those in flight when the old one closed its connections
    expected: { ...FAILOVER, withoutStore: 'any', from: 'end', withinS: 2 },
  }),
];

export const FAULTS = [...WAY, ...SERVER, ...PAIR] as unknown as readonly Fault[];
