import { setTimeout as sleep } from 'node:timers/promises';
import type { FreqLimitService } from 'nestjs-freq-limit';
import { LIMITS, type RuleName } from './options.js';
import { currentJob, type Job } from './recorder.js';
import type { reporterTo } from './reports.js';

/** The users that leases are counted by. */
const USERS = 3;
const WITHOUT_REDIS = { strict: 'deny', soft: 'memory' } as const;
const SHARE_OF_SOFT = 0.3;
/** Most work is short, and some takes longer than the life of a lease. */
const SHARE_OF_LONG = 0.03;
const SHORT_MS = 600;

/** Takes a lease together with a charge, works, and releases it. */
export class Holder {
  constructor(
    private readonly limits: FreqLimitService,
    private readonly report: ReturnType<typeof reporterTo>,
    private readonly lifeMs: number,
  ) {}

  async once(): Promise<void> {
    const name = Math.random() < SHARE_OF_SOFT ? 'soft' : 'strict';
    const job: Job = {};
    const { allowed } = await currentJob.run(job, () => this.hold(name, job));
    if (allowed) return;
    this.report({ what: 'denied', lease: job.lease ?? '' });
    await sleep(20 + Math.random() * 60);
  }

  private hold(name: RuleName, job: Job) {
    const key = `user-${Math.floor(Math.random() * USERS)}`;
    const onStoreError = WITHOUT_REDIS[name];
    const checks = [
      { name: `taken-${name}`, key, window: '1d', limit: 1_000_000, onStoreError } as const,
      { name, key, concurrency: LIMITS[name], onStoreError },
    ];
    return this.limits.hold(checks, async ({ verdict, signal }) => {
      const lease = job.lease ?? '';
      this.report({ what: 'begin', lease, source: verdict.results[1]?.source ?? 'none' });
      await sleep(this.workMs(), undefined, { signal }).catch(() => undefined);
      this.report({ what: 'end', lease, isAborted: signal.aborted });
    });
  }

  private workMs(): number {
    const chance = Math.random();
    return Math.random() < SHARE_OF_LONG ? this.lifeMs * (1.2 + chance) : 10 + SHORT_MS * chance ** 2;
  }
}
