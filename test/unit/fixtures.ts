import type { ExecutionContext } from '@nestjs/common';
import type { CheckResult } from '../../src/core/check.js';
import type { FreqLimitError } from '../../src/core/errors.js';
import { plainKey } from '../../src/core/key-hash.js';
import type { LimitedRequest } from '../../src/core/request.js';
import type { DeclaredRule, Owner, RuleDefaults } from '../../src/rules/planned-rule.js';
import type { FreqLimitRule, Scope } from '../../src/rules/rule.js';

/** A result by the running example: limit 10 in 60 s, 6 used, 20 s after the window opened. */
export function result(parts: Partial<CheckResult> = {}): CheckResult {
  return {
    name: 'minute',
    allowed: true,
    limit: 10,
    windowMs: 60_000,
    cost: 1,
    used: 6,
    remaining: 4,
    resetAfterMs: 40_000,
    retryAfterMs: 0,
    source: 'store',
    ...parts,
  };
}

export const OWNER: Owner = { className: 'SmsController', classIdentity: 'sms', handler: 'send' };

export const DEFAULTS: RuleDefaults = {
  namespace: 'fl',
  defaultKey: '{ip}',
  onMissingKey: 'ip',
  countDenied: false,
  onStoreError: 'memory',
  algorithm: 'fixed-window',
  hashKey: plainKey,
};

/** A rule as a decorator or the module declares it; wrong values stay as they are. */
export function declared(rule: unknown, level: Scope = 'handler', place = `the ${level}`): DeclaredRule {
  return { rule: rule as FreqLimitRule, level, place };
}

/** A client's request with these parts. */
export function requestOf(parts: Record<string, unknown> = {}, address?: string): LimitedRequest {
  return { isClientFacing: true, parts, address };
}

/** For functions that look at nothing of the context. */
export const CONTEXT = { getType: () => 'http' } as unknown as ExecutionContext;

/** What a function throws. */
export function thrownBy(run: () => unknown): FreqLimitError {
  try {
    run();
  } catch (error) {
    return error as FreqLimitError;
  }
  throw new Error('nothing was thrown');
}
