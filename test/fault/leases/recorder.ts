import { AsyncLocalStorage } from 'node:async_hooks';
import type { Check, CheckResult } from '../../../src/core/check.js';
import { RedisStore } from '../../../src/store/redis/redis-store.js';
import { OWN_COST } from './options.js';
import type { reporterTo } from './reports.js';

/** What a process does now, with the lease that it takes for it. */
export interface Job {
  lease?: string;
}

/** The job of the current call. */
export const currentJob = new AsyncLocalStorage<Job>();

type Reporter = ReturnType<typeof reporterTo>;

/** Reports every call about leases and settlements that the stores of this process send to a server. */
export function recordCalls(report: Reporter): void {
  recordTakes(report);
  recordRenewals(report);
  recordSettlements(report);
}

function recordTakes(report: Reporter): void {
  const { consume } = RedisStore.prototype;
  RedisStore.prototype.consume = function (checks, ...rest) {
    for (const check of checks) {
      if (check.lease === undefined) continue;
      const job = currentJob.getStore();
      if (job !== undefined) job.lease = check.lease;
      report({ what: 'take', lease: check.lease, counter: `${check.name}:${check.text}` });
    }
    return consume.call(this, checks, ...rest);
  };
}

function recordRenewals(report: Reporter): void {
  const { renew } = RedisStore.prototype;
  let calls = 0;
  RedisStore.prototype.renew = async function (checks) {
    const leases = checks.map(({ lease }) => lease ?? '');
    const call = ++calls;
    report({ what: 'renew', call, leases });
    const answers = await renew.call(this, checks);
    const withAnswer = (wanted: boolean): string[] => leases.filter((_, i) => answers[i] === wanted);
    report({ what: 'renewed', call, kept: withAnswer(true), again: withAnswer(false) });
    return answers;
  };
}

function recordSettlements(report: Reporter): void {
  const { settle } = RedisStore.prototype;
  RedisStore.prototype.settle = async function (checks, results, ...rest) {
    const costs = checks.filter(({ name }) => name.startsWith(OWN_COST));
    for (const { lease } of checks) if (lease !== undefined) report({ what: 'release', lease });
    for (const { text } of costs) report({ what: 'settle', id: text });
    const after = await settle.call(this, checks, results, ...rest);
    // a settlement without an answer leaves the result unchanged
    const isSettled = (check: Check): boolean => hasChanged(checks.indexOf(check), results, after);
    for (const check of costs) if (isSettled(check)) report({ what: 'settled', id: check.text });
    return after;
  };
}

function hasChanged(i: number, before: readonly CheckResult[], after: readonly CheckResult[]): boolean {
  return after[i] !== before[i];
}
